//! Draws figures as an SVG that a page can show, by day and by night.

use std::fmt::Write;

/// How large one picture is, and how much of it is left for words.
const WIDTH: f64 = 250.0;
const HEIGHT: f64 = 180.0;
const EDGE: f64 = 36.0;

/// One picture: numbers over numbers, the latter by their powers of ten.
#[derive(Clone)]
pub(crate) struct Picture {
    pub(crate) title: &'static str,
    /// What stands below.
    pub(crate) over: &'static str,
    pub(crate) points: Vec<(f64, f64)>,
}

/// All pictures beside each other.
pub(crate) fn draw(pictures: &[Picture]) -> String {
    let width = WIDTH * pictures.len() as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {HEIGHT}\" font-family=\"sans-serif\" \
         font-size=\"10\">\n<style>svg{{color:#444}}@media(prefers-color-scheme:dark){{svg{{color:#ccc}}}}</style>\n"
    );
    for (number, picture) in pictures.iter().enumerate() {
        let _ = writeln!(svg, "<g transform=\"translate({} 0)\" fill=\"currentColor\">", WIDTH * number as f64);
        one(&mut svg, picture);
        svg.push_str("</g>\n");
    }
    svg.push_str("</svg>\n");
    svg
}

fn one(svg: &mut String, picture: &Picture) {
    let (right, bottom) = (WIDTH - 20.0, HEIGHT - EDGE);
    // Where all are nothing they lie on the ground.
    let most = picture.points.iter().map(|(_, y)| *y).fold(f64::MIN_POSITIVE, f64::max) * 1.15;
    let last = picture.points.iter().map(|(x, _)| x.log10()).fold(0.1, f64::max);
    let place = |x: f64, y: f64| (EDGE + (right - EDGE) * x.log10() / last, bottom - (bottom - EDGE) * y / most);
    let _ = writeln!(svg, "<text x=\"{EDGE}\" y=\"18\" font-size=\"12\">{}</text>", picture.title);
    let _ = writeln!(
        svg,
        "<path d=\"M{EDGE} {EDGE}V{bottom}H{right}\" fill=\"none\" stroke=\"currentColor\" opacity=\".4\"/>"
    );
    let mut line = String::new();
    for (x, y) in &picture.points {
        let (left, top) = place(*x, *y);
        let _ = write!(line, "{}{left:.1} {top:.1}", if line.is_empty() { "M" } else { "L" });
        let _ = writeln!(svg, "<circle cx=\"{left:.1}\" cy=\"{top:.1}\" r=\"3\" fill=\"#2f7d6b\"/>");
        let _ =
            writeln!(svg, "<text x=\"{left:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>", top - 7.0, show(*y));
        let _ = writeln!(svg, "<text x=\"{left:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{x:.0}</text>", bottom + 14.0);
    }
    let _ = writeln!(svg, "<path d=\"{line}\" fill=\"none\" stroke=\"#2f7d6b\" stroke-width=\"1.5\"/>");
    let _ = writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" opacity=\".7\">{}</text>",
        (EDGE + right) / 2.0,
        bottom + 28.0,
        picture.over
    );
}

/// A number with as many digits as say something.
fn show(number: f64) -> String {
    match number {
        small if small < 10.0 => format!("{small:.1}"),
        large => format!("{large:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_stands_in_the_picture_and_larger_ones_higher() {
        let svg = draw(&[Picture { title: "ms each", over: "cards", points: vec![(1.0, 430.0), (100.0, 485.0)] }]);
        for words in ["ms each", ">cards<", ">430<", ">485<", ">1<", ">100<"] {
            assert!(svg.contains(words), "{words}: {svg}");
        }
        let heights: Vec<f64> =
            svg.lines().filter_map(|line| line.split("cy=\"").nth(1)?.split('"').next()?.parse().ok()).collect();
        assert!(heights.len() == 2 && heights[1] < heights[0], "{svg}");
    }

    #[test]
    fn small_numbers_and_none_at_all_can_be_drawn() {
        let svg = draw(&[Picture { title: "ms", over: "cards", points: vec![(1.0, 0.0), (10.0, 0.4)] }]);
        assert!(svg.contains(">0.4<") && !svg.contains("NaN"), "{svg}");
        let svg = draw(&[Picture { title: "ms", over: "cards", points: vec![(1.0, 0.0)] }]);
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
}
