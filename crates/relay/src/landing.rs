//! The page for a browser that finds a relay.

use crate::config::Config;

/// The landing page.
pub(crate) fn page(config: &Config) -> String {
    let name = escape(config.relay.name.as_deref().unwrap_or("A Nostr relay"));
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{name}</title>\n\
         <style>body{{font:1.1rem/1.5 system-ui,sans-serif;max-width:36rem;margin:4rem auto;\
         padding:0 1rem}}</style>\n<h1>{name}</h1>\n"
    );
    for paragraph in config.relay.description.iter().flat_map(|text| text.split("\n\n")) {
        page.push_str(&format!("<p>{}</p>\n", escape(paragraph)));
    }
    page.push_str(
        "<p>This is a <a href=\"https://nostr.com\">Nostr</a> relay. It speaks WebSocket at this \
         same address: add it to your client as <code>ws://</code> or <code>wss://</code> and the \
         host name in the address bar.</p>\n",
    );
    if let Some(contact) = &config.relay.contact {
        page.push_str(&format!("<p>Contact: {}</p>\n", escape(contact)));
    }
    page.push_str(&format!(
        "<p><small>zeolite {}. What it supports: this address with <code>Accept: {}</code>.\
         </small></p>\n",
        env!("CARGO_PKG_VERSION"),
        crate::nip11::MEDIA_TYPE,
    ));
    page
}

/// What stands at the end of the page while mirrors run.
pub(crate) fn mirrors(lines: &[String]) -> String {
    let items: String = lines.iter().map(|line| format!("<li>{}</li>\n", escape(line))).collect();
    format!("<p><small>Mirrors:</small></p>\n<ul>\n{items}</ul>\n")
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            _ => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_operators_words_stay_text() {
        let mut config = Config::default();
        config.relay.name = Some("<script>&".to_owned());
        config.relay.description = Some("one\n\n\"two\"".to_owned());
        let page = page(&config);
        assert!(page.contains("<h1>&lt;script&gt;&amp;</h1>"), "{page}");
        assert!(page.contains("<p>one</p>\n<p>&quot;two&quot;</p>"), "{page}");
    }
}
