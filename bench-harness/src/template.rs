//! Placeholders in commands and configuration files: `{port}`, `{dir}`, `{url}`.

use std::collections::BTreeMap;

/// What stands for each placeholder, by its name without braces.
#[derive(Clone, Debug, Default)]
pub struct Values(BTreeMap<&'static str, String>);

impl Values {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same, and `name` stands for `value`.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.0.insert(name, value.into());
        self
    }

    /// Puts the values in. Braces around anything that has no value stay as they are: most
    /// configuration languages have braces of their own.
    pub fn fill(&self, template: &str) -> String {
        let mut filled = String::with_capacity(template.len());
        let mut rest = template;
        while let Some(start) = rest.find('{') {
            filled.push_str(&rest[..start]);
            rest = &rest[start..];
            let (text, length) = match placeholder(rest) {
                Some(name) => match self.0.get(name) {
                    Some(value) => (value.as_str(), name.len() + 2),
                    None => (&rest[..name.len() + 2], name.len() + 2),
                },
                None => (&rest[..1], 1),
            };
            filled.push_str(text);
            rest = &rest[length..];
        }
        filled + rest
    }

    /// The words of a command with the values put in.
    pub fn fill_all(&self, words: &[String]) -> Vec<String> {
        words.iter().map(|word| self.fill(word)).collect()
    }
}

/// The names of all placeholders in a text.
pub fn placeholders(text: &str) -> Vec<&str> {
    text.match_indices('{').filter_map(|(at, _)| placeholder(&text[at..])).collect()
}

/// The name in `{name}`, if the text begins with one.
fn placeholder(text: &str) -> Option<&str> {
    let (name, _) = text.strip_prefix('{')?.split_once('}')?;
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase());
    is_name.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(template: &str, expected: &str) {
        let values = Values::new().with("port", "7000").with("dir", "/d");
        assert_eq!(values.fill(template), expected);
    }

    #[test]
    fn known_names_are_filled_and_other_braces_stay() {
        check("port = {port}", "port = 7000");
        check("{dir}/store:{port}{port}", "/d/store:70007000");
        check("relay {\n  port = {port}\n}", "relay {\n  port = 7000\n}");
        check("{unknown} {} {Port} {", "{unknown} {} {Port} {");
        check("{\"limit\":{port}}", "{\"limit\":7000}");
        check("", "");
    }

    #[test]
    fn names_are_listed() {
        assert_eq!(placeholders("a {port} { {dir} {x y}"), ["port", "dir"]);
    }
}
