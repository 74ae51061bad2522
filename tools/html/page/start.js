// Builds the page when it has loaded.
(function (testbed) {
  'use strict';

  const {h, line, guarded} = testbed;
  const dark = window.matchMedia('(prefers-color-scheme: dark)');
  let chosen = null;  // 'light' or 'dark' by the toggle; null: the system's setting

  testbed.themeName = () => printing ? 'light' : chosen || (dark.matches ? 'dark' : 'light');
  let printing = false;

  function applyTheme(button) {
    const name = testbed.themeName();
    document.documentElement.dataset.theme = name;
    button.textContent = name === 'dark' ? 'Light' : 'Dark';
    button.setAttribute('aria-label', name === 'dark' ? 'Switch to the light theme' : 'Switch to the dark theme');
    testbed.redraw();
  }

  function themeButton() {
    const button = h('button', {type: 'button', class: 'theme', onclick: () => {
      chosen = testbed.themeName() === 'dark' ? 'light' : 'dark';
      applyTheme(button);
    }});
    dark.addEventListener('change', () => applyTheme(button));
    window.addEventListener('beforeprint', () => {
      printing = true;
      applyTheme(button);
      testbed.drawAll();
    });
    window.addEventListener('afterprint', () => {
      printing = false;
      applyTheme(button);
    });
    let pending = 0;
    window.addEventListener('resize', () => {
      cancelAnimationFrame(pending);
      pending = requestAnimationFrame(testbed.redraw);
    });
    return button;
  }

  // Shows the cell that the address names, below everything else, and takes the reader there. Cells are unpacked at the
  // same time, and in any order: one that is ready when the reader has gone elsewhere is not shown.
  let followed = 0;
  async function follow(data, holder) {
    const turn = ++followed, match = /^#cell-(\d+)-(\d+)$/.exec(window.location.hash);
    if (!match) return;
    const cell = await testbed.cellView(data, Number(match[1]), Number(match[2])).catch((error) =>
      testbed.cannotShow(data.experiments[match[1]].cells[match[2]].name, `its results cannot be unpacked here (${error.message})`));
    if (cell === null || turn !== followed) return;
    holder.replaceChildren(cell);
    cell.scrollIntoView();
    cell.focus({preventScroll: true});
    testbed.redraw();
    document.documentElement.dataset.cell = cell.id;
  }

  function pageTitle(data) {
    const all = [...data.comparisons.map((c) => c.title), ...data.experiments.map((e) => e.title), ...data.documents.map((d) => testbed.documentTitle(d.document))];
    return all.length === 1 ? line(all[0]) : `${all.length} results`;
  }

  // Returns the links to the results, when there are several.
  function contents(data) {
    const names = testbed.namesOf(data.documents);
    const links = [...data.comparisons.map((c, i) => [`#ab-${i}`, `${c.title}: ${String(c.source).replace(/^.*\//, '')}`]), ...data.experiments.map((e, i) => [`#experiment-${i}`, e.title]),
                   ...data.documents.map((d, i) => [`#document-${i}`, `${testbed.documentTitle(d.document)}: ${names[i]}`])];
    if (links.length < 2) return null;
    if (testbed.comparisonGroups(data.documents).length > 0) links.unshift(['#comparison', 'Side by side']);
    return h('nav', {'aria-label': 'Results'}, h('ul', {}, links.map(([href, text]) => h('li', {}, h('a', {href}, line(text))))));
  }

  function start() {
    const data = JSON.parse(document.getElementById('data').textContent);
    const page = document.getElementById('page'), button = themeButton();
    data.documents.forEach((entry, index) => { entry.index = index; });
    document.title = `${pageTitle(data)} – testbed`;
    const cell = h('div', {class: 'opened'});
    page.append(h('header', {}, h('h1', {class: 'mark'}, 'testbed'),
                  h('p', {class: 'question'}, 'What does one operation cost the device, and why?'), button),
                h('main', {}, contents(data), data.comparisons.map((comparison, i) => guarded(comparison.source, () => testbed.abView(comparison, i, data))),
                  data.documents.length > 1 ? guarded('Side by side', () => testbed.comparisonView(data.documents, data.compared)) : null,
                  data.experiments.map((experiment, e) => guarded(experiment.title, () => testbed.experimentView(experiment, e))),
                  data.documents.map((entry) => guarded(entry.source, () => testbed.documentView(entry, data))), cell),
                h('footer', {}, h('p', {}, `Made by testbed ${line(data.testbed)} from results documents alone. Plots by Apache ECharts.`)));
    window.addEventListener('hashchange', () => follow(data, cell));
    follow(data, cell);
    applyTheme(button);
    document.documentElement.dataset.ready = 'yes';
  }

  start();
})(testbed);
