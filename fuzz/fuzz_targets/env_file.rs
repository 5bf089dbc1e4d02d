//! An env file gives names that are names, and values that stand in it.

#![no_main]

use keyway_config::env_file::parse;
use keyway_config::environment::Environment;
use keyway_config::template::is_variable_name;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let variables = parse(text);
    for name in variables.names() {
        assert!(is_variable_name(&name), "{name:?}");
        let value = variables.get(&name).expect("a name that was listed");
        let value = value.expose();
        assert!(value.len() < text.len());
        // What is written back in single quotes reads as the same.
        if !value.contains('\'') {
            let again = parse(&format!("{name}='{value}'"));
            assert_eq!(again.get(&name).expect("what was written").expose(), value);
        }
    }
});
