//! The report as a self-contained HTML page with a filter.

use serde_json::Value;

/// Renders the report.
pub(super) fn page(report: &Value) -> String {
    // Prevents `</script>` in the data.
    let data = report.to_string().replace('<', "\\u003c");
    format!(
        "{HEAD}<script type=\"application/json\" id=\"data\">{data}</script>\n<script>{SCRIPT}</script>\n</body></html>\n"
    )
}

const HEAD: &str = r#"<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Marula: specification tests</title>
<style>
:root { color-scheme: light dark; --bg: #fbfaf7; --card: #fff; --text: #23261f; --dim: #6d7266; --line: #e4e2da;
  --passed: #3f8f4f; --failed: #c2382e; --pending: #c98a12; --skipped: #8a9099; }
@media (prefers-color-scheme: dark) { :root { --bg: #161814; --card: #1f221c; --text: #e8e9e3; --dim: #9aa092; --line: #33372e;
  --passed: #6cc07c; --failed: #ef7468; --pending: #e5b14a; --skipped: #7d848e; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 2rem 1.25rem 4rem; background: var(--bg); color: var(--text);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0 0 1rem; }
.tiles { display: flex; flex-wrap: wrap; gap: .75rem; margin-bottom: 1rem; }
.tile { flex: 1 1 8rem; background: var(--card); border: 1px solid var(--line); border-radius: .75rem; padding: .7rem 1rem;
  text-align: left; font: inherit; color: inherit; cursor: pointer; }
.tile b { display: block; font-size: 1.6rem; font-variant-numeric: tabular-nums; }
.tile[aria-pressed=true] { outline: 2px solid currentColor; }
.tile:focus-visible, input:focus-visible, summary:focus-visible { outline: 2px solid var(--passed); outline-offset: 2px; }
input { width: 100%; padding: .6rem .9rem; margin-bottom: 1rem; border: 1px solid var(--line); border-radius: .6rem;
  background: var(--card); color: inherit; font: inherit; }
details { background: var(--card); border: 1px solid var(--line); border-radius: .75rem; margin-bottom: .5rem; }
summary { padding: .55rem 1rem; cursor: pointer; display: flex; gap: 1rem; align-items: center; list-style: none; }
summary::-webkit-details-marker { display: none; }
summary .name { flex: 1; font-weight: 600; overflow-wrap: anywhere; } summary .name small { color: var(--dim); font-weight: 400; margin-left: .5rem; }
.bar { width: 10rem; height: .55rem; border-radius: .3rem; overflow: hidden; display: flex; background: var(--line); }
.numbers { font-variant-numeric: tabular-nums; min-width: 5.5rem; text-align: right; color: var(--dim); }
ul { margin: 0; padding: 0 1rem .8rem; list-style: none; }
li { border-top: 1px solid var(--line); padding: .4rem 0; display: grid; grid-template-columns: 5rem 1fr auto; gap: .2rem .8rem; }
li .file { grid-column: 2; color: var(--dim); font-size: .85em; overflow-wrap: anywhere; }
li pre { grid-column: 2 / -1; margin: .2rem 0; padding: .5rem .7rem; border-radius: .5rem; background: var(--bg); white-space: pre-wrap;
  overflow-wrap: anywhere; font: 12.5px/1.45 ui-monospace, monospace; }
.passed { color: var(--passed); } .failed { color: var(--failed); } .pending { color: var(--pending); } .skipped { color: var(--skipped); }
.bar i { display: block; height: 100%; background: currentColor; }
.time { color: var(--dim); font-variant-numeric: tabular-nums; font-size: .85em; }
.more { color: var(--dim); display: block; }
@media (max-width: 40rem) { .bar { display: none; } li { grid-template-columns: 4.5rem 1fr; } .time { display: none; } }
</style></head><body>
<h1>Specification tests</h1>
<div class="tiles" id="tiles"></div>
<input id="filter" type="search" placeholder="Filter by suite, file, description, reason, version …" aria-label="Filter">
<div id="suites"></div>
"#;

const SCRIPT: &str = r#"
const suites = JSON.parse(document.getElementById('data').textContent).suites;
const statuses = ['passed', 'failed', 'pending', 'skipped'];
const chosen = new Set();
const open = new Set();
const element = (tag, className, text) => {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
};
const count = cases => Object.fromEntries(statuses.map(s => [s, cases.filter(c => c.status === s).length]));
function show() {
  const words = document.getElementById('filter').value.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (suite, c) => {
    const text = [suite.suite, suite.format, c.file, c.description, c.reason, c.topology, c.version, c.status].join(' ').toLowerCase();
    return words.every(word => text.includes(word));
  };
  const found = suites.map(suite => ({ suite, cases: suite.cases.filter(c => fits(suite, c)) }));
  const tiles = document.getElementById('tiles');
  const total = count(found.flatMap(f => f.cases));
  tiles.replaceChildren(...statuses.map(status => {
    const tile = element('button', 'tile ' + status);
    tile.append(element('b', '', total[status].toLocaleString('en')), status);
    tile.setAttribute('aria-pressed', chosen.has(status));
    tile.onclick = () => { chosen.delete(status) || chosen.add(status); show(); };
    return tile;
  }));
  document.getElementById('suites').replaceChildren(...found.flatMap(({ suite, cases }) => {
    const shown = cases.filter(c => !chosen.size || chosen.has(c.status));
    if (!shown.length) return [];
    const counts = count(cases), key = suite.suite + ' ' + suite.format;
    const box = element('details'), head = element('summary'), name = element('span', 'name', suite.suite), bar = element('span', 'bar');
    name.append(element('small', '', suite.format));
    for (const status of statuses) {
      const part = element('i', status);
      part.style.width = 100 * counts[status] / cases.length + '%';
      bar.append(part);
    }
    head.append(name, bar, element('span', 'numbers', counts.passed + ' / ' + cases.length));
    box.append(head);
    const fill = () => {
      if (box.children.length > 1) return;
      const list = element('ul');
      for (const c of shown.slice(0, 1000)) {
        const row = element('li');
        const place = [c.topology, c.version].filter(Boolean).join(', ');
        row.append(element('span', c.status, c.status), element('span', '', c.description + (place ? ' [' + place + ']' : '')),
          element('span', 'time', c.seconds.toFixed(3) + ' s'), element('span', 'file', c.file));
        if (c.reason) row.append(element('pre', '', c.reason));
        list.append(row);
      }
      if (shown.length > 1000) list.append(element('li', 'more', '… ' + (shown.length - 1000) + ' more: filter them'));
      box.append(list);
    };
    box.ontoggle = () => { if (box.open) { fill(); open.add(key); } else open.delete(key); };
    if (open.has(key) || counts.failed || words.length) { fill(); box.open = open.has(key) || counts.failed > 0; }
    return [box];
  }));
}
document.getElementById('filter').oninput = show;
show();
"#;

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn data_does_not_end_the_script() {
        let page = page(&json!({ "suites": [{ "suite": "</script><b>" }] }));
        assert!(!page.contains("</script><b>"));
        assert!(page.contains("\\u003c/script>"));
    }
}
