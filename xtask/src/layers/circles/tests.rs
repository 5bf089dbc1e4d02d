//! Circles of small crates.

use std::fs;

use super::*;

/// Returns the circles of a crate with these files, as `parent: modules`.
fn circles(files: &[(&str, &str)]) -> Vec<String> {
    let found = found(files);
    found
        .iter()
        .map(|found| {
            let modules: Vec<_> = found.circle.modules.iter().cloned().collect();
            format!("{}: {}", found.circle.parent, modules.join(" "))
        })
        .collect()
}

fn found(files: &[(&str, &str)]) -> Vec<Found> {
    let folder = tempfile::tempdir().unwrap();
    for (file, text) in files {
        let path = folder.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    find("sample", &folder.path().join("lib.rs"), folder.path()).unwrap()
}

#[test]
fn two_siblings_that_use_each_other_are_a_circle() {
    for (a, b) in [
        ("use crate::b::B;", "use crate::a::A;"),
        ("use super::b::B;", "fn f(a: super::a::A) {}"),
        ("fn f() { crate::b::g(); }", "use super::{a, other::X};"),
        (
            "fn f() { println!(\"{}\", crate::b::C) }",
            "use crate::a::*;",
        ),
    ] {
        let files = [
            ("lib.rs", "mod a; mod b; mod other;"),
            ("a.rs", a),
            ("b.rs", b),
            ("other.rs", ""),
        ];
        assert_eq!(circles(&files), ["crate: a b"], "{a} {b}");
    }
}

#[test]
fn parents_children_and_one_direction_are_not_a_circle() {
    let files = [
        (
            "lib.rs",
            "mod a; mod b; use a::A; fn f() { b::g(); } struct Root;",
        ),
        (
            "a.rs",
            "mod inner; use crate::b::B; use self::inner::I; pub struct A;",
        ),
        ("a/inner.rs", "use super::A; use crate::Root;"),
        (
            "b.rs",
            "use crate::Root; use http::a::A; // crate::a\n#[cfg(test)] mod tests { use crate::a::A; }",
        ),
    ];
    assert_eq!(circles(&files), Vec::<String>::new());
}

#[test]
fn a_ring_of_three_is_found_below_its_parent() {
    let files = [
        ("lib.rs", "mod outer;"),
        ("outer.rs", "mod a; mod b; mod c; mod d;"),
        ("outer/a.rs", "use super::b::B;"),
        ("outer/b.rs", "mod deep;"),
        ("outer/b/deep.rs", "use super::super::c::C;"),
        ("outer/c.rs", "use crate::outer::{a::A, d::D};"),
        ("outer/d.rs", ""),
    ];
    assert_eq!(circles(&files), ["outer: a b c"]);
}

#[test]
fn a_circle_behind_a_reexport_is_found() {
    let files = [
        ("lib.rs", "mod a; mod b; pub use b::B;"),
        ("a.rs", "use crate::B; pub struct A;"),
        ("b.rs", "use crate::a::A; pub struct B;"),
    ];
    assert_eq!(circles(&files), ["crate: a b"]);
}

#[test]
fn a_circle_through_an_imported_module_is_found() {
    let files = [
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "use super::*; fn f() { b::g(); }"),
        ("b.rs", "use crate as root; fn g() { root::a::f(); }"),
    ];
    assert_eq!(circles(&files), ["crate: a b"]);
}

#[test]
fn each_arrow_of_a_ring_has_a_place() {
    let files = [
        ("lib.rs", "mod a; mod b; mod c;"),
        ("a.rs", "\nuse crate::b::B;\nuse crate::c::C;"),
        ("b.rs", "use crate::a::A;"),
        ("c.rs", "use crate::b::B;"),
    ];
    let rings = found(&files).remove(0).rings;
    assert_eq!(
        rings,
        [
            vec!["a -> b  a.rs:2", "b -> a  b.rs:1"],
            vec!["a -> c  a.rs:3", "c -> b  c.rs:1", "b -> a  b.rs:1"],
        ]
    );
}
