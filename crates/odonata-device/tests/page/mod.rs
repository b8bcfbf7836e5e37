//! The page `docs/storage-devices.md`, of which tests make sections.

use std::path::Path;

/// Holds a section of the page, between two comments; with `ODONATA_UPDATE_DOCS=1`, writes it.
pub(crate) fn hold(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/storage-devices.md");
    let page = std::fs::read_to_string(&path).expect("the page is there");
    let (begin, end) = (
        format!("<!-- {name}: generated -->\n\n"),
        format!("\n<!-- {name}: end -->"),
    );
    let (before, rest) = page.split_once(&begin).expect("the section begins");
    let (now, after) = rest.split_once(&end).expect("the section ends");
    if std::env::var_os("ODONATA_UPDATE_DOCS").is_some() {
        std::fs::write(&path, format!("{before}{begin}{text}{end}{after}")).expect("the page can be written");
    } else {
        assert_eq!(now, text, "ODONATA_UPDATE_DOCS=1 writes it");
    }
}
