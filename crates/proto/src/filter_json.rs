//! From [`Filter`] to JSON, as a client sends it.

use crate::canonical::push_json_string;
use crate::filter::{Filter, TagValue};
use crate::ids::push_hex;

impl Filter {
    /// Appends the filter as a JSON object. Parsing it gives an equal filter.
    pub fn push_json(&self, out: &mut Vec<u8>) {
        let mut object = Object { out, is_empty: true };
        object.out.push(b'{');
        object.hex_list("ids", self.ids.as_deref(), |id| &id.0);
        object.hex_list("authors", self.authors.as_deref(), |author| &author.0);
        if let Some(kinds) = &self.kinds {
            object.list("kinds", kinds, |kind, out| push_number(u64::from(kind.0), out));
        }
        for tag in &self.tags {
            let sign = if tag.all { '&' } else { '#' };
            let name = format!("{sign}{}", char::from(tag.letter));
            object.list(&name, &tag.values, push_tag_value);
        }
        object.number("since", self.since.map(|time| time.0));
        object.number("until", self.until.map(|time| time.0));
        object.number("limit", self.limit);
        if let Some(search) = &self.search {
            object.name("search");
            push_json_string(search, object.out);
        }
        object.out.push(b'}');
    }
}

struct Object<'o> {
    out: &'o mut Vec<u8>,
    is_empty: bool,
}

impl Object<'_> {
    fn name(&mut self, name: &str) {
        if !std::mem::replace(&mut self.is_empty, false) {
            self.out.push(b',');
        }
        push_json_string(name, self.out);
        self.out.push(b':');
    }

    fn number(&mut self, name: &str, value: Option<u64>) {
        if let Some(value) = value {
            self.name(name);
            push_number(value, self.out);
        }
    }

    fn list<T>(&mut self, name: &str, values: &[T], push: impl Fn(&T, &mut Vec<u8>)) {
        self.name(name);
        self.out.push(b'[');
        for (at, value) in values.iter().enumerate() {
            if at > 0 {
                self.out.push(b',');
            }
            push(value, self.out);
        }
        self.out.push(b']');
    }

    fn hex_list<T>(&mut self, name: &str, values: Option<&[T]>, bytes: impl Fn(&T) -> &[u8; 32]) {
        if let Some(values) = values {
            self.list(name, values, |value, out| push_hex_string(bytes(value), out));
        }
    }
}

fn push_number(value: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(value.to_string().as_bytes());
}

fn push_hex_string(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    push_hex(out, bytes);
    out.push(b'"');
}

fn push_tag_value(value: &TagValue, out: &mut Vec<u8>) {
    match value {
        TagValue::Hex(bytes) => push_hex_string(bytes, out),
        TagValue::Text(text) => push_json_string(&String::from_utf8_lossy(text), out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is written is read back as the same filter, member by member.
    #[test]
    fn filters_survive_writing_and_reading() {
        let hex = "ab".repeat(32);
        for json in [
            "{}".to_owned(),
            r#"{"ids":[],"kinds":[0,65535],"limit":0}"#.to_owned(),
            format!(
                r#"{{"ids":["{hex}"],"authors":["{hex}"],"since":1,"until":18446744073709551615}}"#
            ),
            format!(
                r##"{{"#e":["{hex}"],"#t":["","a\"b\\\n\u0001é"],"&t":["{hex}","x"],"#T":[]}}"##
            ),
            r#"{"search":"two \"words\""}"#.to_owned(),
        ] {
            let filter = Filter::from_json(&json).expect("a filter");
            let mut out = Vec::new();
            filter.push_json(&mut out);
            let written = String::from_utf8(out).expect("UTF-8");
            assert_eq!(Filter::from_json(&written), Ok(filter), "{json} became {written}");
        }
    }
}
