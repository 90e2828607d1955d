//! The figures as a picture: bars of CPU time per operation, the official driver's being the measure.

use std::fmt::Write;

use super::{
    compare::{Report, Times},
    table::{place, significant},
};

const WIDTH: f64 = 800.0;
const LABELS: f64 = 210.0;
/// The bar of the contestant that is the measure.
const MEASURE: f64 = 440.0;
/// Longer bars are cut, and say so by their number.
const LONGEST: f64 = 500.0;
const BAR: f64 = 11.0;
const HEAD: f64 = 64.0;

/// Colours that can be told apart, by everybody and on both grounds: floor, ours, official, libmongoc.
const COLOURS: [&str; 4] = ["#9a9a94", "#2f9e5b", "#4d7fd6", "#d08a2e"];

const STYLE: &str = "\
text{font:12px system-ui,sans-serif;fill:#24292f}.title{font-weight:600;font-size:15px}.number{font-size:10px}.task{font-weight:600}
.line{stroke:#d0d7de}.ground{fill:#fff}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.line{stroke:#3d444d}.ground{fill:#0d1117}}";

/// The picture, as SVG that suits light and dark pages.
pub(super) fn svg(report: &Report) -> String {
    let rows: Vec<&Times> = report.times.iter().filter(|times| times.charted).collect();
    let row_height = report.contestants.len() as f64 * BAR + 12.0;
    let height = HEAD + rows.len() as f64 * row_height + 10.0;
    let mut picture = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="CPU time per operation"><style>{STYLE}</style><rect class="ground" width="100%" height="100%"/>"#
    );
    text(
        &mut picture,
        "title",
        16.0,
        24.0,
        "CPU time of the client per operation, µs, beside the official driver's",
    );
    legend(&mut picture, &report.contestants);
    for (n, row) in rows.into_iter().enumerate() {
        bars(&mut picture, row, HEAD + n as f64 * row_height);
    }
    let right = LABELS + MEASURE;
    add(
        &mut picture,
        format_args!(
            r#"<line class="line" x1="{right}" y1="{HEAD}" x2="{right}" y2="{height}" stroke-dasharray="3 3"/>"#
        ),
    );
    picture.push_str("</svg>\n");
    picture
}

fn legend(picture: &mut String, contestants: &[String]) {
    let mut x = 16.0;
    for (name, colour) in contestants.iter().zip(COLOURS) {
        add(
            picture,
            format_args!(r#"<rect x="{x}" y="37" width="11" height="11" rx="2" fill="{colour}"/>"#),
        );
        text(picture, "", x + 16.0, 47.0, name);
        x += 34.0 + name.chars().count() as f64 * 7.0;
    }
}

fn bars(picture: &mut String, row: &Times, top: f64) {
    let whole = place(row);
    let (task, circumstances) = whole.split_once(", ").unwrap_or((&whole, ""));
    text(picture, "task", 16.0, top + 16.0, task);
    text(picture, "number", 16.0, top + 31.0, circumstances);
    let cpu = |n: usize| {
        row.entries
            .get(n)
            .copied()
            .flatten()
            .map(|timing| timing.cpu_us.median)
    };
    let most = (0..row.entries.len()).filter_map(cpu).fold(0.0, f64::max);
    // The official driver stands third; where it has no means for a task, the dearest contestant is the measure.
    let measure = cpu(2).unwrap_or(most).max(f64::MIN_POSITIVE);
    for (n, colour) in COLOURS.iter().enumerate().take(row.entries.len()) {
        let Some(value) = cpu(n) else { continue };
        let y = top + n as f64 * BAR;
        let width = (value / measure * MEASURE).clamp(1.0, LONGEST);
        let thick = BAR - 2.0;
        add(
            picture,
            format_args!(
                r#"<rect x="{LABELS}" y="{y}" width="{width:.1}" height="{thick}" rx="1.5" fill="{colour}"/>"#
            ),
        );
        text(
            picture,
            "number",
            LABELS + width + 5.0,
            y + thick - 0.5,
            &significant(value),
        );
    }
}

fn text(picture: &mut String, class: &str, x: f64, y: f64, content: &str) {
    let content = content.replace('&', "&amp;").replace('<', "&lt;");
    add(
        picture,
        format_args!(r#"<text class="{class}" x="{x:.1}" y="{y:.1}">{content}</text>"#),
    );
}

fn add(picture: &mut String, part: std::fmt::Arguments<'_>) {
    // Writing to a string can't fail.
    let _ = writeln!(picture, "{part}");
}

#[cfg(test)]
mod tests {
    use super::{
        super::{compare::Timing, statistics::Spread},
        *,
    };

    #[test]
    fn every_entry_has_a_bar_of_its_length() {
        let timing = |cpu: f64| {
            let spread = Spread {
                median: cpu,
                min: cpu,
                max: cpu,
            };
            Some(Timing {
                ops_per_second: spread,
                cpu_us: spread,
                peak_kib: spread,
            })
        };
        let report = Report {
            contestants: ["floor", "marula", "official", "a<b"].map(String::from).into(),
            notes: Vec::new(),
            times: vec![Times {
                task: "ping",
                topology: "standalone",
                tasks: 1,
                runtime: "current",
                charted: true,
                entries: vec![timing(10.0), timing(20.0), timing(40.0), None],
            }],
            counts: Vec::new(),
        };
        let picture = svg(&report);
        for length in ["110.0", "220.0", "440.0"] {
            assert!(picture.contains(&format!(r#"width="{length}""#)), "{picture}");
        }
        assert_eq!(picture.matches(r#"rx="1.5""#).count(), 3);
        assert!(picture.contains("a&lt;b"));
    }
}
