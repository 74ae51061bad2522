// Builds the page's elements. Text from documents enters as text nodes only, never as markup.
(function (testbed) {
  'use strict';

  // Makes an element: h('td', {class: 'number', title: 't'}, 'text', otherElement, [more]).
  function h(tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === undefined || value === null || value === false) continue;
      if (name.startsWith('on')) {
        element.addEventListener(name.slice(2), value);
      } else {
        element.setAttribute(name, value === true ? '' : value);
      }
    }
    for (const child of children.flat(3)) {
      if (child !== null && child !== undefined && child !== false) element.append(child);
    }
    return element;
  }

  // Returns a table cell that shows a figure of a document. Its attributes keep the exact figure and its JSON
  // pointer.
  function figure(entry, pointer, format) {
    const value = testbed.at(entry.document, pointer);
    const known = typeof value === 'number' && isFinite(value);
    return h('td', {class: 'number', 'data-document': entry.index, 'data-at': known ? pointer : null, 'data-value': known ? value : null},
             known ? format(value) : '–');
  }

  // Returns a cell with a figure that is computed from others.
  function derived(text, title) {
    return h('td', {class: 'number', title: title}, text);
  }

  // Returns the label of a region that scrolls. Readers who hear the page tell regions by their labels, so the second of
  // the same label has a number.
  const regions = new Map();
  function regionLabel(text) {
    regions.set(text, (regions.get(text) || 0) + 1);
    return regions.get(text) === 1 ? text : `${text} (${regions.get(text)})`;
  }

  // Returns a table. The heads of all columns but the first are aligned to the right, unless `isWords` says of a column's
  // place that it holds words.
  function table(caption, heads, rows, attributes, isWords) {
    const place = (i) => i === 0 || (isWords && isWords(i)) ? null : 'number';
    return h('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': regionLabel(caption)},
             h('table', attributes || {}, h('caption', {}, caption),
               h('thead', {}, h('tr', {}, heads.map((head, i) => h('th', {scope: 'col', class: place(i)}, head)))),
               h('tbody', {}, rows)));
  }

  function fold(title, ...children) {
    return h('details', {class: 'fold'}, h('summary', {}, title), children);
  }

  // Returns a fold whose contents are made when it is opened for the first time.
  function lazyFold(title, make) {
    const details = fold(title);
    let made = false;
    details.addEventListener('toggle', () => {
      if (!details.open || made) return;
      made = true;
      details.append(...[make()].flat());
    });
    return details;
  }

  // Returns the view of a result that cannot be shown, which says why.
  function cannotShow(source, why) {
    return h('section', {class: 'result', tabindex: -1}, h('h2', {}, testbed.line(source)),
             h('p', {class: 'alarm'}, `This result cannot be shown: ${testbed.line(why)}.`));
  }

  // Returns what `make` returns, or a sentence for the reader when `make` fails on a damaged document.
  function guarded(source, make) {
    try {
      return make();
    } catch (error) {
      return cannotShow(source, `it holds something that no run writes (${error.message})`);
    }
  }

  const drawn = new Map();  // by the element of a plot: {make, chart}
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) draw(entry.target);
  }, {rootMargin: '300px'});

  function draw(element) {
    const state = drawn.get(element);
    const width = element.clientWidth;
    if (!state || width === 0) return;
    const theme = testbed.theme(testbed.themeName());
    if (state.theme === theme && state.width === width) return;
    const plot = state.make(theme, width);
    if (state.chart) state.chart.dispose();
    state.theme = theme;
    state.width = width;
    element.style.height = plot.height + 'px';
    state.chart = echarts.init(element, null, {renderer: 'svg', width: width, height: plot.height});
    state.chart.setOption(plot.option);
  }

  // Draws every plot that was drawn before anew, after a change of theme or width.
  function redraw() {
    for (const [element, state] of drawn) {
      if (!state.chart) continue;
      if (element.isConnected) {
        draw(element);
      } else {
        state.chart.dispose();
        seen.unobserve(element);
        drawn.delete(element);
      }
    }
  }

  // Draws all plots, even those that were not scrolled into view yet, since a printer prints them all.
  function drawAll() {
    for (const element of drawn.keys()) draw(element);
  }

  // Returns a figure with a plot that is drawn when it comes into view; null when `make` has nothing to draw.
  // A plot that cannot be read on a narrow screen has a class "wide": it keeps its width and scrolls.
  function plot(title, note, make, wide) {
    const first = make(testbed.theme('light'), 800);
    if (first === null) return null;
    const element = h('div', {class: wide ? 'plot wide' : 'plot', role: 'img', 'aria-label': title, style: `height:${first.height}px`});
    drawn.set(element, {make});
    seen.observe(element);
    return h('figure', {}, h('figcaption', {}, h('strong', {}, title), note ? ['. ', note] : null),
             wide ? h('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': regionLabel(title)}, element) : element);
  }

  Object.assign(testbed, {h, figure, derived, table, fold, lazyFold, cannotShow, guarded, plot, redraw, drawAll});
})(testbed);
