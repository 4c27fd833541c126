//! Lists that come in pages.

use http::{HeaderMap, header};
use reqwest::Url;

/// Where the next page is, by the `Link` header.
pub(crate) fn next_page(headers: &HeaderMap) -> Option<Url> {
    let links = headers.get_all(header::LINK).iter().filter_map(|value| value.to_str().ok());
    for link in links.flat_map(|value| value.split(',')) {
        let Some((address, relations)) = link.split_once('>') else { continue };
        let is_next = relations.split(';').any(|relation| {
            let relation = relation.trim();
            relation == "rel=\"next\"" || relation == "rel=next"
        });
        if is_next {
            return address.trim_start().strip_prefix('<').and_then(|address| Url::parse(address).ok());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_page_is_found_among_the_links() {
        let link = r#"<https://x.example/a?page=1>; rel="prev", <https://x.example/a?page=3>; rel="next", <https://x.example/a?page=9>; rel="last""#;
        let headers = HeaderMap::from_iter([(header::LINK, link.parse().unwrap())]);
        assert_eq!(next_page(&headers).unwrap().as_str(), "https://x.example/a?page=3");
        for nothing in [r#"<https://x.example/a>; rel="last""#, "garbage", "<not an address>; rel=\"next\""] {
            assert_eq!(next_page(&HeaderMap::from_iter([(header::LINK, nothing.parse().unwrap())])), None);
        }
    }
}
