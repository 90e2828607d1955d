//! Draws the chart: bars of CPU time per operation, scaled to the official driver.

use std::fmt::Write;

use super::{
    clients::Role,
    numbers::significant,
    report::{Column, Report, Times},
    table::row_label,
};

const WIDTH: f64 = 800.0;
const LABELS: f64 = 210.0;
/// Length of the bar of the reference client.
const REFERENCE: f64 = 440.0;
/// Maximum length. Longer bars are truncated; the number shows the value.
const LONGEST: f64 = 500.0;
const BAR: f64 = 11.0;
const HEAD: f64 = 64.0;

/// Colours that are distinguishable with colour blindness, on light and dark backgrounds. The lower
/// bounds are grey.
const fn colour(role: Role) -> &'static str {
    match role {
        Role::Blocking => "#c4c4be",
        Role::Floor => "#8a8a84",
        Role::Marula => "#2f9e5b",
        Role::Odm => "#8f6fc9",
        Role::Official => "#4d7fd6",
        Role::Libmongoc => "#d08a2e",
    }
}

const STYLE: &str = "\
text{font:12px system-ui,sans-serif;fill:#24292f}.title{font-weight:600;font-size:15px}.number{font-size:10px}.task{font-weight:600}
.line{stroke:#d0d7de}.ground{fill:#fff}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.line{stroke:#3d444d}.ground{fill:#0d1117}}";

/// The chart as SVG, for light and dark pages.
pub(super) fn svg(report: &Report) -> String {
    let rows: Vec<&Times> = report.times.iter().filter(|times| times.charted).collect();
    let row_height = report.clients.len() as f64 * BAR + 12.0;
    let height = HEAD + rows.len() as f64 * row_height + 10.0;
    let mut picture = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="CPU time per operation"><style>{STYLE}</style><rect class="ground" width="100%" height="100%"/>"#
    );
    text(
        &mut picture,
        "title",
        16.0,
        24.0,
        "CPU time of the client per operation, µs (dashed line: official driver)",
    );
    legend(&mut picture, &report.clients);
    for (n, row) in rows.into_iter().enumerate() {
        bars(&mut picture, report, row, HEAD + n as f64 * row_height);
    }
    let right = LABELS + REFERENCE;
    add(
        &mut picture,
        format_args!(
            r#"<line class="line" x1="{right}" y1="{HEAD}" x2="{right}" y2="{height}" stroke-dasharray="3 3"/>"#
        ),
    );
    picture.push_str("</svg>\n");
    picture
}

fn legend(picture: &mut String, clients: &[Column]) {
    let mut x = 16.0;
    for Column { role, title } in clients {
        let colour = colour(*role);
        add(
            picture,
            format_args!(r#"<rect x="{x}" y="37" width="11" height="11" rx="2" fill="{colour}"/>"#),
        );
        text(picture, "", x + 16.0, 47.0, title);
        x += 34.0 + title.chars().count() as f64 * 7.0;
    }
}

fn bars(picture: &mut String, report: &Report, row: &Times, top: f64) {
    let label = row_label(row);
    let (task, details) = label.split_once(", ").unwrap_or((&label, ""));
    text(picture, "task", 16.0, top + 16.0, task);
    text(picture, "number", 16.0, top + 31.0, details);
    let cpu: Vec<Option<f64>> = row
        .entries
        .iter()
        .map(|entry| entry.map(|timing| timing.cpu_us.median))
        .collect();
    let most = cpu.iter().flatten().copied().fold(0.0, f64::max);
    // If the official driver does not support a task, the slowest client is the reference.
    let reference = report
        .entry(&cpu, Role::Official)
        .unwrap_or(most)
        .max(f64::MIN_POSITIVE);
    for (n, (column, value)) in report.clients.iter().zip(cpu).enumerate() {
        let Some(value) = value else { continue };
        let y = top + n as f64 * BAR;
        let width = (value / reference * REFERENCE).clamp(1.0, LONGEST);
        let thick = BAR - 2.0;
        let colour = colour(column.role);
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
    // Writing to a string cannot fail.
    let _ = writeln!(picture, "{part}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::report::samples;

    #[test]
    fn bar_lengths_are_proportional() {
        let picture = svg(&samples::report());
        for length in ["88.0", "110.0", "220.0", "440.0"] {
            assert!(picture.contains(&format!(r#"width="{length}""#)), "{picture}");
        }
        assert_eq!(picture.matches(r#"rx="1.5""#).count(), 4);
        assert!(picture.contains("a&lt;b"));
    }
}
