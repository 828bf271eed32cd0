//! A lesson's text: Markdown to HTML, with kernels' names as links.

use maud::{Markup, PreEscaped};
use pulldown_cmark::{
    BrokenLink, CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html::push_html,
};

/// A lesson's text in its parts.
#[derive(Debug)]
pub(super) struct Prose {
    /// The heading, without markup; empty where there is none.
    pub title: String,
    /// The first paragraph.
    pub lead: Markup,
    /// The rest.
    pub rest: Markup,
}

impl Prose {
    /// Renders Markdown. Links within the program's own documentation become plain text, code that names a kernel with a section
    /// becomes a link to it.
    pub(super) fn of(markdown: &str, linked: &dyn Fn(&str) -> bool) -> Prose {
        let mut unknown = |_: BrokenLink<'_>| Some((CowStr::Borrowed(""), CowStr::Borrowed("")));
        let parser =
            Parser::new_with_broken_link_callback(markdown, Options::ENABLE_TABLES, Some(&mut unknown));
        let mut title = String::new();
        let mut parts: [Vec<Event<'_>>; 2] = Default::default();
        let (mut in_title, mut part, mut link) = (false, 0, None);
        for event in parser {
            match event {
                Event::Start(Tag::Heading { level: HeadingLevel::H1, .. }) if title.is_empty() => {
                    in_title = true;
                }
                Event::End(TagEnd::Heading(_)) if in_title => in_title = false,
                Event::Text(text) | Event::Code(text) if in_title => title.push_str(&text),
                Event::Start(Tag::Link { dest_url, .. }) if !dest_url.starts_with("http") => {
                    link = Some(false);
                }
                Event::Start(Tag::Link { .. }) => {
                    link = Some(true);
                    parts[part].push(event);
                }
                Event::End(TagEnd::Link) => {
                    if link.take() == Some(true) {
                        parts[part].push(event);
                    }
                }
                Event::Start(Tag::Heading { id, classes, attrs, .. }) => {
                    part = 1;
                    parts[1].push(Event::Start(Tag::Heading { level: HeadingLevel::H4, id, classes, attrs }));
                }
                Event::End(TagEnd::Heading(_)) => {
                    parts[1].push(Event::End(TagEnd::Heading(HeadingLevel::H4)));
                }
                // Raw HTML is shown as what was typed.
                Event::Html(text) | Event::InlineHtml(text) => parts[part].push(Event::Text(text)),
                Event::Code(text) if link != Some(true) && linked(text.trim_end_matches("()")) => {
                    let name = text.trim_end_matches("()");
                    let shown = maud::html! { a href={"#kernel-" (name)} { code { (text.as_ref()) } } };
                    parts[part].push(Event::InlineHtml(shown.into_string().into()));
                }
                Event::End(TagEnd::Paragraph) => {
                    parts[part].push(event);
                    part = 1;
                }
                event => parts[part].push(event),
            }
        }
        let [lead, rest] = parts.map(|events| {
            let mut text = String::new();
            push_html(&mut text, events.into_iter());
            PreEscaped(text)
        });
        Prose { title, lead, rest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_becomes_a_title_a_lead_and_the_rest() {
        let text = "# Turning `a` matrix\n\nRead [`tiles`] and [that](crate::that), by `naive_row()`.\n\n# Launch\n- `x` <b>\n\n[a](https://b.c)";
        let prose = Prose::of(text, &|name| name == "naive_row");
        assert_eq!(prose.title, "Turning a matrix");
        assert_eq!(
            prose.lead.into_string(),
            "<p>Read <code>tiles</code> and that, by <a href=\"#kernel-naive_row\"><code>naive_row()</code></a>.</p>\n"
        );
        assert_eq!(
            prose.rest.into_string(),
            "<h4>Launch</h4>\n<ul>\n<li><code>x</code> &lt;b&gt;</li>\n</ul>\n<p><a href=\"https://b.c\">a</a></p>\n"
        );
    }
}
