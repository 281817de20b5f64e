//! Pages as they are on the web, and some that mean harm.

use super::*;

const ARTICLE: &str = include_str!("samples/article.html");
const ARTICLE_MARKDOWN: &str = include_str!("samples/article.md");
const INDEX: &str = include_str!("samples/index.html");
const INDEX_MARKDOWN: &str = include_str!("samples/index.md");

fn converted(html: &str) -> Page {
    let url = Url::parse("https://docs.test/guide/start.html").expect("a URL");
    convert(html, &url)
}

#[test]
fn an_article_becomes_markdown_without_its_frame() {
    let page = converted(ARTICLE);
    assert_eq!(page.title, "Sockets & streams – The Guide");
    assert_eq!(page.markdown, ARTICLE_MARKDOWN.trim_end());
}

#[test]
fn a_page_without_an_article_is_shown_whole() {
    let page = converted(INDEX);
    assert_eq!(page.title, "Downloads");
    assert_eq!(page.markdown, INDEX_MARKDOWN.trim_end());
}

#[test]
fn a_page_nested_too_deep_gives_its_text() {
    let nested = |depth: usize| {
        let (open, close) = ("<div>".repeat(depth), "</div>".repeat(depth));
        format!("<title>deep</title><script>no</script>{open}<b>bottom</b>{close}<p>end")
    };
    // As deep as is converted, within the stack of a test's thread.
    let converted_whole = converted(&nested(DEPTH_MAX - 5));
    assert_eq!(converted_whole.markdown, "**bottom**\n\nend");
    for depth in [DEPTH_MAX + 1, 3000] {
        let page = converted(&nested(depth));
        assert_eq!(
            (page.title.as_str(), page.markdown.as_str()),
            ("deep", "bottom\nend")
        );
    }
    // Not even parsed.
    assert_eq!(converted(&nested(300_000)).markdown, "deep no bottom end");
}

#[test]
fn odd_pages_are_survived() {
    for (html, expected) in [
        ("", ""),
        ("just text", "just text"),
        ("<p>one<p>two", "one\n\ntwo"),
        ("<a href='javascript:x()'>run</a>", "run"),
        (
            "<img src='data:image/png;base64,AAAA' alt='dot'>",
            "[image: dot]",
        ),
        ("<img src='/a.png'>", ""),
        (
            "<table><tr><th>a<th>b<tr><td>1<td>2</table>",
            "| a | b |\n| - | - |\n| 1 | 2 |",
        ),
        (
            "<pre><code class='language-rust'>fn a() {}\n</code></pre>",
            "```rust\nfn a() {}\n```",
        ),
        (
            "<base href='https://other.test/x/'><a href='y'>y</a>",
            "[y](https://other.test/x/y)",
        ),
    ] {
        assert_eq!(converted(html).markdown, expected, "{html}");
    }
}

#[test]
fn no_cell_of_a_table_is_lost() {
    for (html, expected) in [
        (
            "<table><tr><th>Key<td>Value<tr><th>a<td>1</table>",
            "| Key | Value |\n| --- | ----- |\n| a   | 1     |",
        ),
        (
            "<table><thead><tr><th>x<th>y<tr><th>cm<th>kg</thead><tr><td>1<td>2</table>",
            "| x  | y  |\n| -- | -- |\n| cm | kg |\n| 1  | 2  |",
        ),
        (
            "<table><tr><td>left<td><a href=/r>right</a><tr><td>1<td>2</table>",
            "| left | [right](https://docs.test/r) |\n| ---- | ---------------------------- |\n\
             | 1    | 2                            |",
        ),
        (
            "<table><tr><td>menu<td><p>text<tr><td>1<td>2</table>",
            "menu\n\ntext\n\n1\n\n2",
        ),
    ] {
        assert_eq!(converted(html).markdown, expected, "{html}");
    }
}

#[test]
fn a_table_cannot_be_padded_into_a_bomb() {
    let wide = "w".repeat(100_000);
    let long = "<tr><td>1".repeat(2000);
    let bomb = format!("<table><tr><th>{wide}{long}</table>");
    let shown = converted(&bomb).markdown;
    assert!(shown.len() < 2 * bomb.len(), "{}", shown.len());
    assert!(shown.ends_with("1\n\n1\n\n1"));
    let columns = format!("<table><tr>{}{long}</table>", "<th>x".repeat(20_000));
    assert!(converted(&columns).markdown.len() < 2 * columns.len());
}

#[test]
fn quotes_within_quotes_cannot_become_a_bomb() {
    let quoted = |depth: usize, lines: usize| {
        let lines = "x<br>".repeat(lines);
        converted(&format!("{}{lines}", "<blockquote>".repeat(depth))).markdown
    };
    assert_eq!(quoted(2, 1), "> > x");
    assert!(quoted(INDENTS_MAX + 1, 20_000).len() <= 2 * 20_000);
}

#[test]
fn deep_pages_fit_the_stack_and_large_ones_the_clock() {
    let table = [
        ("<b><i><span>", 60, "x"),
        ("<section><p><a href=x>", 60, "x"),
        ("<ul><li>", 12, "<p>x"),
        ("<table><tr><td>", 45, "x"),
    ];
    for (open, depth, inner) in table {
        let page = converted(&format!("{}{inner}", open.repeat(depth)));
        assert!(page.markdown.contains('x'), "{open}");
    }
    let text = "Some words, and more of them. ".repeat(8);
    let large = format!("<div><p>{text}</p></div>").repeat(20_000);
    assert!(converted(&large).markdown.len() > 4_000_000);
}
