// Colours and type of the plots. ECMAScript 5.
//
// The colours are those of Okabe and Ito ("Color universal design", 2008), which people with any form of
// colour blindness can tell apart, and of Paul Tol's "muted" scheme where eight are not enough. An engine
// has the same colour, dash and symbol in every plot, and its colour where it is several curves; colour is never the
// only sign.
(function (testbed) {
  'use strict';

  var engines = {
    btree: {light: '#0072b2', dark: '#56a8dc', dash: 'solid', symbol: 'circle'},
    rocksdb: {light: '#d55e00', dark: '#f08a3c', dash: 'solid', symbol: 'rect'},
    wiredtiger: {light: '#009e73', dark: '#35c79b', dash: 'solid', symbol: 'triangle'},
    lmdb: {light: '#b3589a', dark: '#dd8fc4', dash: 'solid', symbol: 'diamond'},
    innodb: {light: '#a87400', dark: '#e6b23c', dash: 'solid', symbol: 'pin'},
    fractal: {light: '#3a86c8', dark: '#8cc5f2', dash: 'dashed', symbol: 'emptyCircle'},
    mmapv1: {light: '#6b5b95', dark: '#a99ad6', dash: 'dashed', symbol: 'emptyRect'},
    mdbx: {light: '#8c3f74', dark: '#c98bb5', dash: 'dashed', symbol: 'emptyDiamond'},
    mysql: {light: '#7a5200', dark: '#cfa24e', dash: 'dashed', symbol: 'emptyPin'},
    sqlite: {light: '#117733', dark: '#66c08a', dash: 'dotted', symbol: 'emptyTriangle'},
    postgres: {light: '#555555', dark: '#b8b8b8', dash: 'dotted', symbol: 'emptyArrow'},
    pebble: {light: '#7a6a00', dark: '#cfc24a', dash: 'dotted', symbol: 'arrow'},
    'bf-tree': {light: '#332288', dark: '#9a8fe0', dash: 'dotted', symbol: 'roundRect'}
  };
  // The looks of engines that are not named above: a hash of the name chooses one.
  var others = [
    {light: '#882255', dark: '#d2769f', dash: 'dotted', symbol: 'emptyRoundRect'},
    {light: '#44576a', dark: '#a9b8c8', dash: 'dotted', symbol: 'emptyCircle'},
    {light: '#7d4a3a', dark: '#cfa193', dash: 'dotted', symbol: 'emptyRect'}
  ];
  var sequence = [
    {light: '#0072b2', dark: '#56a8dc', dash: 'solid', symbol: 'circle'},
    {light: '#d55e00', dark: '#f08a3c', dash: 'dashed', symbol: 'rect'},
    {light: '#009e73', dark: '#35c79b', dash: 'dotted', symbol: 'triangle'},
    {light: '#b3589a', dark: '#dd8fc4', dash: 'solid', symbol: 'diamond'},
    {light: '#a87400', dark: '#e6b23c', dash: 'dotted', symbol: 'pin'},
    {light: '#3a86c8', dark: '#8cc5f2', dash: 'dotted', symbol: 'emptyCircle'},
    {light: '#555555', dark: '#b8b8b8', dash: 'solid', symbol: 'emptyRect'}
  ];
  // Kinds of work that every plot shows in the same colour.
  var work = {
    'flush': 4, 'checkpoint': 1, 'compaction': 2, 'eviction': 3, 'writeback': 5, 'cleaner': 5, 'journal': 6
  };

  // The names of fonts have no double quotes, because the library does not escape them in the attributes of an SVG.
  var sans = "system-ui, -apple-system, 'Segoe UI', 'Helvetica Neue', Helvetica, Arial, 'DejaVu Sans', sans-serif";
  var themes = {
    light: {
      name: 'light', font: sans, ink: '#1c2024', muted: '#5c646c', rule: '#d5d9dd', faint: '#eceff1',
      background: '#ffffff', band: 'rgba(213, 94, 0, 0.13)', alarm: '#b3470a', rest: '#8a939b'
    },
    dark: {
      name: 'dark', font: sans, ink: '#e8eaed', muted: '#a3abb3', rule: '#3d4349', faint: '#2a2f34',
      background: '#16191c', band: 'rgba(240, 138, 60, 0.2)', alarm: '#f5a05a', rest: '#7d868e'
    }
  };

  // Returns whether the name is a key of the object itself: a workload or an engine may be called "constructor".
  function has(object, name) { return Object.prototype.hasOwnProperty.call(object, name); }

  function hash(text) {
    var h = 0;
    for (var i = 0; i < text.length; ++i) h = (h * 31 + text.charCodeAt(i)) % 65521;
    return h;
  }

  // Returns {color, dash, symbol} of an engine. A release of one, such as rocksdb@10.4.2, has its engine's.
  testbed.engineLook = function (name, theme) {
    var engine = String(name).replace(/[@:].*$/, '');
    var look = has(engines, engine) ? engines[engine] : others[hash(name) % others.length];
    return {color: look[theme.name], dash: look.dash, symbol: look.symbol};
  };

  // Returns {color, dash, symbol} of the i-th of several things that are no engines. Colours come again after seven, with
  // another dash and another symbol.
  testbed.look = function (i, theme) {
    var round = Math.floor(i / sequence.length), look = sequence[i % sequence.length], dashes = ['solid', 'dashed', 'dotted'];
    return {color: look[theme.name], dash: dashes[(dashes.indexOf(look.dash) + round) % dashes.length],
            symbol: sequence[(i + round) % sequence.length].symbol};
  };

  // Returns the looks of the engines of one plot, in the order of their names. Releases of one engine have the same look,
  // and engines that are not named above may have; in a plot each has one of its own.
  testbed.engineLooks = function (names, theme) {
    var taken = {}, known = names.map(function (name) { return has(engines, name); });
    function sign(look) { return look.color + look.dash + look.symbol; }
    names.forEach(function (name, i) { if (known[i]) taken[sign(testbed.engineLook(name, theme))] = true; });
    return names.map(function (name, i) {
      var look = testbed.engineLook(name, theme);
      for (var next = 0; !known[i] && taken[sign(look)]; ++next) look = testbed.look(next, theme);
      taken[sign(look)] = true;
      return look;
    });
  };

  function twin(symbol) {
    return symbol.indexOf('empty') === 0 ? symbol.charAt(5).toLowerCase() + symbol.substr(6) : 'empty' + symbol.charAt(0).toUpperCase() + symbol.substr(1);
  }

  // Returns the looks of curves that are combinations of an engine with something else ({engine, rest}). Each has its
  // engine's colour, and where it is free the engine's mark and the line that curves of the same rest have. No two have
  // the same line and mark, since colour is never the only sign.
  testbed.combinationLooks = function (curves, theme) {
    var dashes = ['solid', 'dashed', 'dotted'], names = [], rests = [], taken = {};
    curves.forEach(function (curve) {
      if (names.indexOf(curve.engine) < 0) names.push(curve.engine);
      if (rests.indexOf(curve.rest) < 0) rests.push(curve.rest);
    });
    var looks = testbed.engineLooks(names, theme), marks = sequence.map(function (look) { return look.symbol; });
    return curves.map(function (curve) {
      var own = looks[names.indexOf(curve.engine)], symbols = [own.symbol, twin(own.symbol)].concat(marks, marks.map(twin));
      for (var n = 0; n < dashes.length * symbols.length; ++n) {
        var dash = dashes[(rests.indexOf(curve.rest) + n) % dashes.length], symbol = symbols[Math.floor(n / dashes.length)];
        if (!taken[dash + symbol]) break;
      }
      taken[dash + symbol] = true;
      return {color: own.color, dash: dash, symbol: symbol};
    });
  };

  // Returns looks for these kinds of work, by name: background work has its own colours, operations
  // take the others in their order.
  testbed.workLooks = function (names, theme) {
    var looks = {}, next = 0, order = [0, 3, 6, 1, 5, 2, 4];
    names.forEach(function (name) {
      if (has(work, name)) looks[name] = testbed.look(work[name], theme);
    });
    names.forEach(function (name) {
      if (!has(looks, name)) looks[name] = testbed.look(order[next++ % order.length], theme);
    });
    return looks;
  };

  testbed.theme = function (name) { return themes[name]; };

  // Returns the parts that all plots have in common.
  testbed.basePlot = function (theme) {
    return {
      animation: false,
      aria: {enabled: true},
      backgroundColor: 'transparent',
      textStyle: {fontFamily: theme.font, fontSize: 12, color: theme.ink},
      tooltip: {
        confine: true, backgroundColor: theme.background, borderColor: theme.rule, borderWidth: 1,
        padding: [6, 10], textStyle: {color: theme.ink, fontSize: 12, fontFamily: theme.font},
        extraCssText: 'box-shadow:0 2px 8px rgba(0,0,0,.18);border-radius:4px;'
      }
    };
  };

  // Returns an axis of these settings in the page's type.
  testbed.plotAxis = function (theme, settings) {
    var axis = {
      axisLine: {show: true, lineStyle: {color: theme.rule}},
      axisTick: {show: true, lineStyle: {color: theme.rule}},
      axisLabel: {color: theme.muted, fontSize: 11, fontFamily: theme.font, hideOverlap: true},
      nameTextStyle: {color: theme.muted, fontSize: 11, fontFamily: theme.font},
      splitLine: {show: true, lineStyle: {color: theme.faint}},
      minorSplitLine: {show: false}
    };
    Object.keys(settings).forEach(function (name) {
      if (name === 'axisLabel') {
        Object.keys(settings.axisLabel).forEach(function (n) { axis.axisLabel[n] = settings.axisLabel[n]; });
      } else {
        axis[name] = settings[name];
      }
    });
    return axis;
  };

  // Returns the width of a text in a sans-serif font of this size, in pixels, where nothing can measure it. It is that of
  // a wide font (DejaVu Sans), because the reader of a file may have any: a text that is wider than this meets the next.
  testbed.textWidth = function (text, size) {
    var sum = 0;
    for (var i = 0; i < text.length; ++i) {
      var c = text.charAt(i);
      sum += /[ijl|']/.test(c) ? 0.29 : /[frt ,.:;()\/-]/.test(c) ? 0.4 : /[mwMW%@]/.test(c) ? 0.95
             : /[A-Z]/.test(c) ? 0.71 : /[\u0000-\u024f]/.test(c) ? 0.63 : 1;
    }
    return sum * size;
  };

  // Returns the height that the legend of these names takes above a plot, in pixels; 0 when it has none. The library breaks
  // its lines and does not move the plot.
  testbed.legendHeight = function (names, width) {
    var lines = 1, used = 0, most = Math.max(200, width - 20);
    names.forEach(function (name) {
      var item = testbed.textWidth(name, 12) + 50;
      if (used > 0 && used + item > most) {
        ++lines;
        used = 0;
      }
      used += item;
    });
    return names.length > 1 ? 22 + 26 * (lines - 1) : 0;
  };

  // Slants the labels of a category axis that do not fit beside each other, so that each is shown. Returns how much higher
  // they make the plot, in pixels.
  testbed.slantLabels = function (option, labels, width) {
    var room = width - option.grid.left - option.grid.right, longest = 0, together = 0;
    labels.forEach(function (label) {
      var own = testbed.textWidth(label, 11);
      longest = Math.max(longest, own);
      together += own + 12;
    });
    if (together <= room || labels.length * 15 > room) return 0;
    var more = Math.round(longest / 2);  // the sine of 30 degrees
    option.xAxis.axisLabel.interval = 0;
    option.xAxis.axisLabel.rotate = 30;
    option.xAxis.axisLabel.hideOverlap = false;
    option.xAxis.boundaryGap = true;
    option.xAxis.nameGap += more;
    option.grid.bottom += more;
    return more;
  };

  testbed.plotLegend = function (theme, names) {
    return {
      show: names.length > 1, type: 'plain', data: names, top: 0, left: 0, itemWidth: 30, itemHeight: 8, itemGap: 14,
      textStyle: {color: theme.ink, fontSize: 12, fontFamily: theme.font}, inactiveColor: theme.rest
    };
  };
})(testbed);
