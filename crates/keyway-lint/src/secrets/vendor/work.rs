//! Chat, mail, documents, tickets, social networks.

use super::Vendor;
use super::shape::Alphabet::{Alnum, Base64, Dotted, LowerHex, Url, Wide};
use super::shape::{Shape, dotted_parts, ends_with_uuid};

#[rustfmt::skip]
pub(super) const VENDORS: &[Vendor] = &[
    Vendor::new("slack", "Slack", "SLACK_BOT_TOKEN", &[
        Shape::prefix("xoxb-", 20, 200, Url),
        Shape::prefix("xoxp-", 20, 200, Url),
        Shape::prefix("xoxa-", 20, 200, Url),
        Shape::prefix("xoxr-", 20, 200, Url),
        Shape::prefix("xoxs-", 20, 200, Url),
        Shape::prefix("xoxc-", 20, 200, Url),
        Shape::prefix("xoxd-", 20, 400, Wide),
        Shape::prefix("xoxe-", 20, 300, Url),
        Shape::prefix("xoxe.xox", 20, 300, Dotted),
        Shape::prefix("xapp-", 20, 200, Url),
        Shape::after("hooks.slack.com/services/", 30, 90, Base64),
    ]),
    Vendor::new("discord", "Discord", "DISCORD_TOKEN", &[
        Shape::prefix("M", 55, 80, Dotted).check(is_discord),
        Shape::prefix("N", 55, 80, Dotted).check(is_discord),
        Shape::prefix("O", 55, 80, Dotted).check(is_discord),
        Shape::after("discord.com/api/webhooks/", 70, 120, Base64),
    ]),
    Vendor::new("telegram", "Telegram", "TELEGRAM_BOT_TOKEN", &[
        Shape::inside(":AA", 39, 46, Url).check(is_telegram),
    ]),
    Vendor::new("line", "LINE", "CHANNEL_ACCESS_TOKEN", &[]),
    Vendor::new("twilio", "Twilio", "TWILIO_AUTH_TOKEN", &[
        Shape::prefix("SK", 32, 32, LowerHex),
        Shape::prefix("AC", 32, 32, LowerHex).public(),
    ]),
    Vendor::new("sendgrid", "SendGrid", "SENDGRID_API_KEY", &[
        Shape::prefix("SG.", 60, 70, Dotted).check(|t| dotted_parts(t, &[2, 22, 43])),
    ]),
    Vendor::new("mailgun", "Mailgun", "MAILGUN_API_KEY", &[Shape::prefix("key-", 32, 32, LowerHex)]),
    Vendor::new("mailchimp", "Mailchimp", "MAILCHIMP_API_KEY", &[
        Shape::inside("-us", 33, 34, Alnum).check(is_mailchimp),
    ]),
    Vendor::new("resend", "Resend", "RESEND_API_KEY", &[Shape::prefix("re_", 24, 40, Url)]),
    Vendor::new("brevo", "Brevo", "BREVO_API_KEY", &[Shape::prefix("xkeysib-", 70, 90, Url)]),
    Vendor::new("postmark", "Postmark", "POSTMARK_SERVER_TOKEN", &[]),
    Vendor::new("klaviyo", "Klaviyo", "KLAVIYO_API_KEY", &[Shape::prefix("pk_", 34, 34, LowerHex)]),
    Vendor::new("beamer", "Beamer", "BEAMER_API_KEY", &[Shape::prefix("b_", 44, 44, Base64)]),
    Vendor::new("notion", "Notion", "NOTION_TOKEN", &[
        Shape::prefix("ntn_", 40, 60, Alnum),
        Shape::prefix("secret_", 40, 50, Alnum),
    ]),
    Vendor::new("linear", "Linear", "LINEAR_API_KEY", &[
        Shape::prefix("lin_api_", 32, 60, Alnum),
        Shape::prefix("lin_oauth_", 32, 80, Alnum),
    ]),
    Vendor::new("asana", "Asana", "ASANA_ACCESS_TOKEN", &[
        Shape::prefix("1/", 40, 80, Wide).check(is_asana),
        Shape::prefix("2/", 40, 90, Wide).check(is_asana),
    ]),
    Vendor::new("clickup", "ClickUp", "CLICKUP_API_KEY", &[Shape::prefix("pk_", 36, 50, Url).check(is_clickup)]),
    Vendor::new("monday", "monday.com", "MONDAY_API_TOKEN", &[]),
    Vendor::new("miro", "Miro", "MIRO_OAUTH_TOKEN", &[]),
    Vendor::new("todoist", "Todoist", "TODOIST_API_TOKEN", &[]),
    Vendor::new("obsidian", "Obsidian Local REST API", "OBSIDIAN_API_KEY", &[]),
    Vendor::new("coda", "Coda", "CODA_API_KEY", &[]),
    Vendor::new("plane", "Plane", "PLANE_API_KEY", &[Shape::prefix("plane_api_", 30, 60, Alnum)]),
    Vendor::new("shortcut", "Shortcut", "SHORTCUT_API_TOKEN", &[]),
    Vendor::new("typeform", "Typeform", "TYPEFORM_API_TOKEN", &[Shape::prefix("tfp_", 40, 70, Dotted)]),
    Vendor::new("cal-com", "Cal.com", "CAL_API_KEY", &[Shape::prefix("cal_live_", 24, 60, Alnum)]),
    Vendor::new("frame-io", "Frame.io", "FRAMEIO_TOKEN", &[Shape::prefix("fio-u-", 60, 70, Url)]),
    Vendor::new("hubspot", "HubSpot", "PRIVATE_APP_ACCESS_TOKEN", &[
        Shape::prefix("pat-na", 38, 40, Url).check(ends_with_uuid),
        Shape::prefix("pat-eu", 38, 40, Url).check(ends_with_uuid),
        Shape::prefix("pat-ap", 38, 40, Url).check(ends_with_uuid),
    ]),
    Vendor::new("intercom", "Intercom", "INTERCOM_ACCESS_TOKEN", &[Shape::prefix("dG9rO", 50, 70, Base64)]),
    Vendor::new("zendesk", "Zendesk", "ZENDESK_API_TOKEN", &[]),
    Vendor::new("salesforce", "Salesforce", "SALESFORCE_ACCESS_TOKEN", &[
        Shape::prefix("00D", 90, 130, Wide).check(|t| t.find('!').is_some_and(|at| at == 15 || at == 18)),
    ]),
    Vendor::new("ghost", "Ghost", "GHOST_API_KEY", &[]),
    Vendor::new("wordpress", "WordPress", "WORDPRESS_PASSWORD", &[]),
    Vendor::new("webflow", "Webflow", "WEBFLOW_TOKEN", &[]),
    Vendor::new("facebook", "Facebook", "FB_ACCESS_TOKEN", &[Shape::prefix("EAA", 80, 300, Alnum)]),
    Vendor::new("instagram", "Instagram", "INSTAGRAM_ACCESS_TOKEN", &[
        Shape::prefix("IGQ", 80, 300, Url),
        Shape::prefix("IGAA", 80, 300, Url),
    ]),
    Vendor::new("x", "X", "TWITTER_BEARER_TOKEN", &[Shape::prefix("AAAAAAAAAAAAAAAAAAAA", 50, 120, Wide)]),
    Vendor::new("linkedin", "LinkedIn", "LINKEDIN_COOKIE", &[Shape::prefix("AQED", 100, 200, Url)]),
    Vendor::new("spotify", "Spotify", "SPOTIFY_CLIENT_SECRET", &[]),
    Vendor::new("twitch", "Twitch", "TWITCH_OAUTH_TOKEN", &[Shape::prefix("oauth:", 30, 30, Alnum)]),
    Vendor::new("youtube", "YouTube", "YOUTUBE_API_KEY", &[]),
    Vendor::new("deepl", "DeepL", "DEEPL_API_KEY", &[]),
];

/// The bot's number in base 64, the time, the signature.
fn is_discord(token: &str) -> bool {
    let mut parts = token.split('.');
    let (id, time, signature) = (parts.next(), parts.next(), parts.next());
    parts.next().is_none()
        && id.is_some_and(|id| (23..=28).contains(&id.len()) && !id.starts_with(COUNTED))
        && time.is_some_and(|time| time.len() == 6)
        && signature.is_some_and(|signature| (27..=40).contains(&signature.len()))
}

/// `1234567`, as the number of a bot in documentation begins, in base 64.
const COUNTED: &str = "MTIzNDU2N";

/// The bot's number, a colon, thirty-five characters.
fn is_telegram(token: &str) -> bool {
    let token = token.strip_prefix("bot").unwrap_or(token);
    token.split_once(':').is_some_and(|(id, secret)| {
        (8..=11).contains(&id.len())
            && id.bytes().all(|b| b.is_ascii_digit())
            && (33..=36).contains(&secret.len())
    })
}

/// Thirty-two hexadecimal digits, then the data centre.
fn is_mailchimp(token: &str) -> bool {
    token.split_once("-us").is_some_and(|(key, centre)| {
        key.len() == 32
            && key.bytes().all(|b| b.is_ascii_hexdigit())
            && centre.bytes().all(|b| b.is_ascii_digit())
    })
}

/// Numbers with slashes, a colon, thirty-two hexadecimal digits.
fn is_asana(token: &str) -> bool {
    token.rsplit_once(':').is_some_and(|(head, secret)| {
        head.bytes().all(|b| b.is_ascii_digit() || b == b'/')
            && secret.len() == 32
            && secret.bytes().all(|b| b.is_ascii_hexdigit())
    })
}

/// The user's number, an underscore, thirty-two capitals and digits.
fn is_clickup(token: &str) -> bool {
    let mut parts = token.split('_').skip(1);
    let (user, key) = (
        parts.next().unwrap_or_default(),
        parts.next().unwrap_or_default(),
    );
    user.len() >= 5
        && user.bytes().all(|b| b.is_ascii_digit())
        && key.len() == 32
        && key
            .bytes()
            .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit())
}
