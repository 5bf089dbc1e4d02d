//! The times of the latest calls as a small line.

use std::fmt::Write as _;
use std::time::Duration;

use super::html::{Html, html};
use super::words;

/// Draws a line through times, oldest first; nothing below two of them.
pub(super) fn sparkline(times: &[Duration]) -> Option<Html> {
    let latest = times.len().saturating_sub(SHOWN);
    let times = times.get(latest..)?;
    let longest = times.iter().max()?.as_micros().max(1);
    let steps = u128::try_from(times.len().checked_sub(1)?).ok()?;
    if steps == 0 {
        return None;
    }
    let mut points = String::new();
    for (at, time) in (0_u128..).zip(times) {
        let x = PAD + at * (WIDTH - 2 * PAD) / steps;
        let y = HEIGHT - PAD - time.as_micros() * (HEIGHT - 2 * PAD) / longest;
        let _fits = write!(points, "{x},{y} ");
    }
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    let middle = sorted.get(sorted.len() / 2).copied().unwrap_or_default();
    let slowest = sorted.last().copied().unwrap_or_default();
    Some(html!(
        "<svg class=\"spark\" viewBox=\"0 0 120 28\" role=\"img\" \
         aria-label=\"latency of the last {} calls: middle {}, slowest {}\">\
         <polyline points=\"{}\"/></svg>",
        times.len(),
        words::took(middle),
        words::took(slowest),
        points.trim_end(),
    ))
}

/// How many calls are drawn.
const SHOWN: usize = 40;
const WIDTH: u128 = 120;
const HEIGHT: u128 = 28;
const PAD: u128 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_stays_within_its_frame_and_says_what_it_shows() {
        let times: Vec<Duration> = (1..100).map(Duration::from_millis).collect();
        let drawn = sparkline(&times).unwrap();
        let text = drawn.as_str();
        let (_, rest) = text.split_once("points=\"").unwrap();
        let (points, _) = rest.split_once('"').unwrap();
        let points: Vec<(i32, i32)> = points
            .split(' ')
            .map(|point| point.split_once(',').unwrap())
            .map(|(x, y)| (x.parse().unwrap(), y.parse().unwrap()))
            .collect();
        assert_eq!(points.len(), SHOWN);
        assert!(
            points
                .iter()
                .all(|(x, y)| (2..=118).contains(x) && (2..=26).contains(y))
        );
        assert_eq!(points.last(), Some(&(118, 2)));
        assert!(
            text.contains("last 40 calls") && text.contains("slowest 99 ms"),
            "{text}"
        );
    }

    #[test]
    fn a_single_call_draws_no_line() {
        assert!(sparkline(&[]).is_none());
        assert!(sparkline(&[Duration::ZERO]).is_none());
        assert!(sparkline(&[Duration::ZERO; 2]).is_some());
    }
}
