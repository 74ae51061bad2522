// Curves of an experiment: a metric over any of its axes, or a series of metrics over its numbers, with confidence bands.
// ECMAScript 5.
(function (testbed) {
  'use strict';

  // The options that count. Their k is 1000, and that of all others, which are sizes, is 1024.
  var counts = ['rows', 'operations', 'rows-per-transaction', 'scan-rows', 'seed', 'threads', 'queue-depth', 'databases', 'read-iops', 'added-delay',
                'lazy-interval', 'verify-every'];

  // Returns the number that a label of the axis begins with: 8k is 8192 as a size and 8000 as a count, 0.5 is 0.5; NaN for
  // a label that is a name. A label such as 2x20 is a name.
  testbed.labelNumber = function (label, axis) {
    var match = /^(-?[0-9]+(?:\.[0-9]+)?)\s*([kKmMgGtT%]?)[bB]?$/.exec(String(label));
    if (!match) return NaN;
    var steps = {'k': 1, 'm': 2, 'g': 3, 't': 4}[match[2].toLowerCase()] || 0;
    return Number(match[1]) * Math.pow(counts.indexOf(axis) < 0 ? 1024 : 1000, steps);
  };

  function used(experiment, a) {
    var labels = {};
    experiment.cells.forEach(function (cell) { if (cell) labels[cell.labels[a]] = true; });
    return Object.keys(labels).map(Number).sort(function (x, y) { return x - y; });
  }

  // Returns the axes over which curves can be drawn: those with at least two measured labels. Axes of numbers come
  // first, the longest first.
  testbed.curveAxes = function (experiment) {
    var list = [];
    experiment.axes.forEach(function (axis, a) {
      var labels = used(experiment, a);
      if (labels.length < 2) return;
      var numbers = labels.every(function (l) { return isFinite(testbed.labelNumber(axis.labels[l], axis.name)); });
      list.push({index: a, name: axis.name, labels: labels, numbers: numbers});
    });
    return list.sort(function (x, y) { return (y.numbers - x.numbers) || (y.labels.length - x.labels.length); });
  };

  // Adds to `fixed` where each of these axes is held: at the label with most measured cells. The axis `engine`, or else
  // the first one, is not held, and each of its labels is a curve of its own (-1).
  function hold(experiment, axes, fixed) {
    var many = axes.filter(function (a) { return a.name === 'engine'; })[0] || axes[0];
    axes.forEach(function (axis) {
      if (axis === many) {
        fixed[axis.index] = -1;
        return;
      }
      var counts = {}, best = axis.labels[0];
      experiment.cells.forEach(function (cell) {
        if (!cell) return;
        var label = cell.labels[axis.index];
        counts[label] = (counts[label] || 0) + 1;
        if (counts[label] > (counts[best] || 0)) best = label;
      });
      fixed[axis.index] = best;
    });
  }

  // Moves the axes of a choice that are held, when no curve has two points there, to the labels at which the curves have
  // most steps from point to point. Labels with most cells may have one label of the axis that is drawn: direct reads
  // have one readahead.
  function lengthen(experiment, choice) {
    var axes = Object.keys(choice.fixed).map(Number), groups = {}, best = null;
    var held = axes.filter(function (a) { return choice.fixed[a] >= 0; }), free = axes.filter(function (a) { return choice.fixed[a] < 0; });
    function key(of, labels) { return '$' + of.map(function (a) { return labels[a]; }).join(' '); }
    experiment.cells.forEach(function (cell) {
      if (!cell || !cell.figures[choice.metric]) return;
      var name = key(held, cell.labels), curve = key(free, cell.labels);
      var group = groups[name] = groups[name] || {labels: cell.labels, curves: {}, steps: 0};
      if (group.curves[curve]) ++group.steps;
      group.curves[curve] = true;
      if (best === null || group.steps > best.steps) best = group;
    });
    var here = groups[key(held, choice.fixed)];
    if (best === null || best.steps === 0 || (here && here.steps > 0)) return;
    held.forEach(function (a) { choice.fixed[a] = best.labels[a]; });
  }

  // Returns the choice that shows most cells: {metric, x, fixed: {axis index: label index or -1 for all}}. Each label
  // of the axis `engine`, or else of the axis with most labels, is a curve of its own. Other axes are held at the
  // label with most measured cells, or where no curve has two points there, at those with the longest curves.
  testbed.curveChoice = function (experiment) {
    var axes = testbed.curveAxes(experiment);
    if (axes.length === 0 || experiment.metrics.length === 0) return null;
    var choice = {metric: 0, x: axes[0].index, fixed: {}};
    experiment.metrics.forEach(function (metric, i) { if (metric.name === experiment.main_metric) choice.metric = i; });
    hold(experiment, axes.slice(1), choice.fixed);
    lengthen(experiment, choice);
    return choice;
  };

  // The most curves of a series, unless one axis alone has more labels.
  var mostCombinations = 16;

  // Returns the choice that draws a series over its numbers: {metric, series, x: -1, fixed}. Each combination of labels
  // is a curve of its own; when there are too many, axes are held as above.
  testbed.seriesChoice = function (experiment, series) {
    var choice = {metric: series.metrics[0], series: series, x: -1, fixed: {}}, axes = testbed.curveAxes(experiment);
    axes.forEach(function (axis) { choice.fixed[axis.index] = -1; });
    if (testbed.curves(experiment, choice).length > mostCombinations) hold(experiment, axes, choice.fixed);
    return choice;
  };

  // Returns the series that has the metric; null when none has it.
  testbed.seriesOf = function (experiment, metric) {
    return (experiment.series || []).filter(function (series) { return series.metrics.indexOf(metric) >= 0; })[0] || null;
  };

  // Returns the series of an experiment, that of the main metric first. The main metric may be one of its metrics, or
  // have the name of its stem.
  testbed.seriesInOrder = function (experiment) {
    var all = experiment.series || [], main = all.filter(function (series) { return isMain(experiment, series); });
    return main.concat(all.filter(function (series) { return !isMain(experiment, series); }));
  };

  function isMain(experiment, series) {
    var main = experiment.main_metric;
    return series.stem === main || series.metrics.some(function (metric) { return experiment.metrics[metric].name === main; });
  }

  // Returns the choice that is shown first: the series of the main metric where it has one, or else that of curveChoice;
  // null when there is no curve.
  testbed.firstChoice = function (experiment) {
    var first = testbed.seriesInOrder(experiment)[0], choice = testbed.curveChoice(experiment);
    return first && (choice === null || isMain(experiment, first)) ? testbed.seriesChoice(experiment, first) : choice;
  };

  // Returns what a choice draws: the name of the figure, and of the axis with its labels in their order.
  function subject(experiment, choice) {
    var metric = experiment.metrics[choice.metric], series = choice.series;
    if (series) return {name: series.stem, unit: metric.unit, axis: series.over, labels: series.numbers.map(function (n) { return String(n); })};
    var axis = experiment.axes[choice.x];
    return {name: metric.name, unit: metric.unit, axis: axis.name, labels: axis.labels};
  }

  // Returns the points of a cell: one, or of a series one for each number that has a figure.
  function pointsOf(experiment, choice, cell, i) {
    var shown = subject(experiment, choice), at = choice.series ? choice.series.metrics : [choice.metric], points = [];
    at.forEach(function (metric, n) {
      var figure = cell.figures[metric], order = choice.series ? n : cell.labels[choice.x], label = shown.labels[order];
      if (!figure) return;
      points.push({x: testbed.labelNumber(label, shown.axis), order: order, label: label, mean: figure[0], half: figure[1], cell: i});
    });
    return points;
  }

  // Returns the curves of a choice: [{name, engine, rest, points: [{x, label, mean, half, cell}]}]. `rest` is the name
  // without the engine.
  testbed.curves = function (experiment, choice) {
    var byName = {}, names = [];
    experiment.cells.forEach(function (cell, i) {
      var points = cell ? pointsOf(experiment, choice, cell, i) : [];
      if (points.length === 0) return;
      var parts = [], rest = [], engine = '', kept = true;
      experiment.axes.forEach(function (axis, a) {
        if (a === choice.x) return;
        var fixed = choice.fixed[a], label = axis.labels[cell.labels[a]], part = axis.name === 'engine' ? label : axis.name + ' ' + label;
        if (fixed !== undefined && fixed >= 0 && fixed !== cell.labels[a]) kept = false;
        if (fixed === -1) parts.push(part);
        if (fixed === -1 && axis.name !== 'engine') rest.push(part);
        if (axis.name === 'engine') engine = label;
      });
      if (!kept) return;
      var name = parts.join(', ') || subject(experiment, choice).name;
      if (!byName['$' + name]) {
        byName['$' + name] = {name: name, engine: engine, rest: rest.join(', '), points: []};
        names.push(name);
      }
      byName['$' + name].points = byName['$' + name].points.concat(points);
    });
    return names.map(function (name) {
      var curve = byName['$' + name];
      curve.points.sort(function (p, q) { return isFinite(p.x) && isFinite(q.x) ? p.x - q.x : p.order - q.order; });
      return curve;
    });
  };

  function wide(values) {
    var least = Infinity, most = 0;
    values.forEach(function (v) {
      if (v > 0) least = Math.min(least, v);
      most = Math.max(most, v);
    });
    return values.every(function (v) { return v > 0; }) && most / least > 30;
  }

  // Returns the band between mean - half and mean + half, as an invisible line with a stacked area on it.
  function bands(theme, curve, look, points) {
    if (!curve.points.some(function (p) { return p.half > 0; })) return [];
    function one(values, area) {
      return {name: curve.name, type: 'line', data: values, stack: 'band ' + curve.name, stackStrategy: 'all', symbol: 'none', silent: true, z: 1,
              lineStyle: {width: 0, opacity: 0}, itemStyle: {color: look.color},
              areaStyle: area ? {color: look.color, opacity: 0.18} : undefined, tooltip: {show: false}, emphasis: {disabled: true}};
    }
    return [one(points(function (p) { return p.mean - (p.half || 0); }), false), one(points(function (p) { return 2 * (p.half || 0); }), true)];
  }

  // Returns the labels at which the axes that are no curves are held, such as "size cached"; empty when there is none.
  function held(experiment, choice) {
    return experiment.axes.map(function (axis, a) {
      return choice.fixed[a] >= 0 ? axis.name + ' ' + axis.labels[choice.fixed[a]] : '';
    }).filter(function (text) { return text !== ''; }).join(', ');
  }

  // Returns the looks of the curves. Each has its engine's colour when engines are curves, and combinations of one engine
  // differ by their lines and marks.
  function looksOf(experiment, choice, curves, theme) {
    var ofEngines = experiment.axes.some(function (axis, a) { return axis.name === 'engine' && choice.fixed[a] === -1; });
    if (!ofEngines) return curves.map(function (curve, i) { return testbed.look(i, theme); });
    return curves.every(function (curve) { return curve.name === curve.engine; })
        ? testbed.engineLooks(curves.map(function (curve) { return curve.engine; }), theme) : testbed.combinationLooks(curves, theme);
  }

  // Returns the plot of a choice; null when it shows no curve.
  testbed.curvePlot = function (experiment, choice, theme, width) {
    var every = testbed.curves(experiment, choice), curves = every.slice(0, 24), narrow = width < 560, all = [], labels = [], numbers = true;
    if (curves.length === 0) return null;
    curves.forEach(function (curve) {
      curve.points.forEach(function (p) {
        all.push(p.mean);
        if (labels.indexOf(p.label) < 0) labels.push(p.label);
        if (!isFinite(p.x)) numbers = false;
      });
    });
    var shows = subject(experiment, choice), axisName = shows.axis;
    labels.sort(function (a, b) { return shows.labels.indexOf(a) - shows.labels.indexOf(b); });
    function numberOf(label) { return testbed.labelNumber(label, axisName); }
    var xs = labels.map(numberOf);
    if (numbers) labels.sort(function (a, b) { return numberOf(a) - numberOf(b); });
    // Numbers that span a factor of eight get a logarithmic axis, those of a series, which are mostly a course of time,
    // from a factor of 32. Names, and wide series that begin at 0, are placed at equal distances.
    var least = Math.min.apply(null, xs), most = Math.max.apply(null, xs), span = choice.series ? 32 : 8;
    var logX = numbers && least > 0 && most / least >= span;
    var category = !numbers || xs.length < 2 || (!logX && most / (xs.slice().sort(function (a, b) { return a - b; })[1] || 1) >= span);
    var option = testbed.basePlot(theme), logY = wide(all), below = all.some(function (v) { return v < 0; });
    function point(p, value) { return category ? [p.label, value] : [p.x, value]; }
    option.series = [];
    var looks = looksOf(experiment, choice, curves, theme);
    curves.forEach(function (curve, i) {
      var look = looks[i];
      var of = function (f) { return curve.points.map(function (p) { return point(p, f(p)); }); };
      // The legend shows the mark and the dashes of the first series of a name.
      option.series.push({
        name: curve.name, type: 'line', data: curve.points.map(function (p) {
          return {value: point(p, p.mean), says: p, cell: p.cell};
        }), symbol: look.symbol, symbolSize: 7, z: 3, lineStyle: {color: look.color, width: 1.8, type: look.dash}, itemStyle: {color: look.color},
        emphasis: {focus: 'series'}
      });
      if (!logY) option.series = option.series.concat(bands(theme, curve, look, of));
      if (logY && curve.points.some(function (p) { return p.half > 0; })) option.series.push(whiskers(curve, look, point));
    });
    var shown = curves.map(function (c) { return c.name; }), above = testbed.legendHeight(shown, width);
    option.legend = testbed.plotLegend(theme, shown);
    option.grid = {left: narrow ? 52 : 70, right: narrow ? 12 : 28, top: 34 + above, bottom: 46};
    var names = {};
    labels.forEach(function (label) { names['$' + numberOf(label)] = label; });
    option.xAxis = testbed.plotAxis(theme, category ? {type: 'category', data: labels, boundaryGap: labels.length < 4} : {
      type: logX ? 'log' : 'value', logBase: 2, min: logX ? least / 1.15 : least - (most - least) / 20, max: logX ? most * 1.15 : most + (most - least) / 20,
      axisTick: {customValues: xs, show: true, lineStyle: {color: theme.rule}}, splitLine: {show: false},
      axisLabel: {customValues: xs, formatter: function (x) { return names['$' + x] || names['$' + Math.round(x)] || testbed.axis(x); }}
    });
    var at = held(experiment, choice);
    option.xAxis.name = axisName + (at ? ', at ' + at : '') + (curves.length < every.length ? '; the first ' + curves.length + ' of ' + every.length + ' curves' : '');
    option.xAxis.nameLocation = 'middle';
    option.xAxis.nameGap = 28;
    option.xAxis.splitLine = {show: false};
    option.xAxis.axisLine.onZero = false;
    var slanted = category ? testbed.slantLabels(option, labels, width) : 0;
    option.yAxis = testbed.plotAxis(theme, {type: logY ? 'log' : 'value', axisLabel: {formatter: testbed.axis}, min: logY || below ? undefined : 0,
                                            name: shows.name.replace(/_/g, ' ') + (shows.unit ? ' (' + shows.unit + ')' : ''), nameLocation: 'end',
                                            nameTextStyle: {align: 'left', padding: [0, 0, 0, narrow ? -44 : -62], color: theme.muted, fontSize: 11}});
    option.tooltip.trigger = 'item';
    option.tooltip.formatter = function (p) {
      var says = p.data.says;
      if (!says) return '';
      return testbed.escape(p.seriesName) + '<br>' + testbed.escape(axisName + ' ' + says.label) + '&ensp;<b>' + testbed.short(says.mean) +
          (says.half > 0 ? ' ± ' + testbed.short(says.half) : '') + '</b>';
    };
    return {option: option, height: 330 + above + slanted};
  };

  // Returns the interval of a point as a line through it. On a logarithmic scale a stacked band would be wrong.
  function whiskers(curve, look, point) {
    return {
      name: curve.name, type: 'custom', silent: true, z: 2, encode: {x: 0, y: [1, 2]},
      data: curve.points.filter(function (p) { return p.half > 0; }).map(function (p) {
        return {value: [point(p, 0)[0], Math.max(p.mean - p.half, p.mean / 100), p.mean + p.half], itemStyle: {color: look.color}};
      }),
      renderItem: function (params, api) {
        var low = api.coord([api.value(0), api.value(1)]), high = api.coord([api.value(0), api.value(2)]);
        return {type: 'line', shape: {x1: low[0], y1: low[1], x2: high[0], y2: high[1]}, style: {stroke: api.visual('color'), lineWidth: 1.6}};
      }
    };
  }
})(testbed);
