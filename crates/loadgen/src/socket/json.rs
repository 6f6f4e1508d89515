//! Just enough JSON to find a member of an object without parsing the rest.
//!
//! The text comes from a relay, so nothing here panics or trusts it: `None` means that the text is
//! not what was expected.

/// The position of the next byte that is not white space.
pub fn skip_space(json: &[u8], mut at: usize) -> usize {
    while matches!(json.get(at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
        at += 1;
    }
    at
}

/// The position behind the value that begins at `at`.
pub fn skip_value(json: &[u8], at: usize) -> Option<usize> {
    match json.get(at)? {
        b'"' => skip_string(json, at),
        b'{' | b'[' => skip_nested(json, at),
        _ => {
            let rest = &json[at..];
            let length = rest
                .iter()
                .position(|byte| matches!(byte, b',' | b']' | b'}' | b' ' | b'\t' | b'\n' | b'\r'));
            Some(at + length.unwrap_or(rest.len()))
        }
    }
}

/// The text of the string value of `name` in the object that begins at `at`, still escaped.
pub fn find_member<'a>(json: &'a [u8], at: usize, name: &[u8]) -> Option<&'a [u8]> {
    find_value(json, at, name)?.strip_prefix(b"\"")?.strip_suffix(b"\"")
}

/// The value of `name` in the object that begins at `at`, as JSON.
pub fn find_value<'a>(json: &'a [u8], at: usize, name: &[u8]) -> Option<&'a [u8]> {
    let mut at = skip_space(json, at);
    if json.get(at)? != &b'{' {
        return None;
    }
    loop {
        at = skip_space(json, at + 1);
        let key_end = skip_string(json, at)?;
        let key = &json[at + 1..key_end - 1];
        at = skip_space(json, key_end);
        if json.get(at)? != &b':' {
            return None;
        }
        at = skip_space(json, at + 1);
        let end = skip_value(json, at)?;
        if key == name {
            return Some(&json[at..end]);
        }
        at = skip_space(json, end);
        if json.get(at)? != &b',' {
            return None;
        }
    }
}

/// The position behind the string that begins at `at`.
fn skip_string(json: &[u8], at: usize) -> Option<usize> {
    if json.get(at)? != &b'"' {
        return None;
    }
    let mut at = at + 1;
    loop {
        let run = json.get(at..)?.iter().position(|byte| matches!(byte, b'"' | b'\\'))?;
        at += run;
        match json[at] {
            b'"' => return Some(at + 1),
            _ => at += 2,
        }
    }
}

/// The position behind the object or array that begins at `at`; brackets in strings do not count.
fn skip_nested(json: &[u8], mut at: usize) -> Option<usize> {
    let mut depth = 0_usize;
    loop {
        match json.get(at)? {
            b'"' => {
                at = skip_string(json, at)?;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
        if depth == 0 {
            return Some(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &str, expected: Option<&str>) {
        let found = find_member(json.as_bytes(), 0, b"id").map(|id| String::from_utf8_lossy(id));
        assert_eq!(found.as_deref(), expected, "{json}");
    }

    /// The member is found first, last, behind white space, and never inside another value.
    #[test]
    fn finds_the_member_and_no_other() {
        check(r#"{"id":"a"}"#, Some("a"));
        check(r#" { "id" : "a" , "x":1}"#, Some("a"));
        check(r#"{"content":"\"id\":\"b\"","id":"a"}"#, Some("a"));
        check(r#"{"content":"\\","id":"a"}"#, Some("a"));
        check(r#"{"tags":[["id","b"],[{"id":"c"}],["]\""]],"id":"a"}"#, Some("a"));
        check(r#"{"kind":1,"ok":true,"n":-1.5e3,"id":"a"}"#, Some("a"));
        check(r#"{"kind":1}"#, None);
        check(r#"{"id":7}"#, None);
    }

    /// Whatever is cut off is no answer, and no panic.
    #[test]
    fn cut_texts_are_no_answer() {
        let json = r#"{"tags":[["e","\\\""]],"kind":1,"id":"abc"}"#;
        for cut in 0..json.len() - 1 {
            check(&json[..cut], None);
        }
        for text in ["", "[]", "}", "{]", "{\"\\", "{\"id\"", "{\"id\":", "{\"a\":]}"] {
            check(text, None);
        }
    }
}
