// Plots of a phase: its latency by percentile, its ledger, its blocks per operation. ECMAScript 5.
(function (testbed) {
  'use strict';

  var marks = [0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999];

  // Returns the place of a share on HdrHistogram's axis, which is logarithmic in 1 / (1 - share).
  function scale(share) { return 1 / (1 - share); }
  function markName(x) {
    var share = 1 - 1 / x;
    return parseFloat((share * 100).toPrecision(8)) + ' %';
  }

  // Returns the plot of latency curves [{name, curve, look, open}]; null when none has two points. A curve is a list of
  // shares and microseconds, from the intended start where the loop was `open`. The end of a curve, the slowest operation, is drawn one step beyond the last share.
  testbed.latencyPlot = function (curves, theme, width) {
    var narrow = width < 560, option = testbed.basePlot(theme), most = 10;
    curves = curves.filter(function (c) { return c.curve && c.curve.length > 1; });
    if (curves.length === 0) return null;
    var since = ', from the intended start', allOpen = curves.every(function (c) { return c.open; });
    curves = curves.map(function (c) { return {name: c.name + (c.open && !allOpen ? since : ''), curve: c.curve, look: c.look}; });
    option.series = curves.map(function (c) {
      var points = [], last = 1;
      c.curve.forEach(function (point) {
        var x = point[0] < 1 ? scale(point[0]) : last * 1.3;
        last = x;
        points.push([x, point[1] > 0 ? point[1] : null, point[0]]);
      });
      most = Math.max(most, last);
      return {name: c.name, type: 'line', data: points, showSymbol: false, symbol: c.look.symbol,
              lineStyle: {color: c.look.color, width: 1.8, type: c.look.dash}, itemStyle: {color: c.look.color},
              emphasis: {disabled: true}};
    });
    var names = curves.map(function (c) { return c.name; }), above = testbed.legendHeight(names, width);
    option.grid = {left: narrow ? 52 : 66, right: narrow ? 12 : 28, top: 18 + above, bottom: 46};
    option.xAxis = testbed.plotAxis(theme, {
      type: 'log', logBase: 10, min: 1, max: most, name: (narrow && allOpen ? 'share not slower' : 'share of operations that were not slower') + (allOpen ? since : ''), nameLocation: 'middle', nameGap: 28,
      axisLabel: {formatter: markName, showMinLabel: true, showMaxLabel: false}
    });
    option.yAxis = testbed.plotAxis(theme, {type: 'log', axisLabel: {formatter: testbed.time}});
    option.legend = testbed.plotLegend(theme, names);
    option.tooltip.trigger = 'axis';
    option.tooltip.formatter = function (p) {
      return p.map(function (one) {
        var share = one.value[2], at = share < 1 ? parseFloat((share * 100).toPrecision(6)) + ' %' : 'slowest';
        return one.marker + testbed.escape(one.seriesName) + '&ensp;' + at + '&ensp;<b>' + testbed.time(one.value[1]) + '</b>';
      }).join('<br>');
    };
    return {option: option, height: 318 + above, marks: marks};
  };

  // Returns the curves of a phase's operations, or of those with a name.
  testbed.phaseCurves = function (phase, theme) {
    return (phase.operations || []).map(function (op, i) {
      return {name: op.name, curve: op.latency_curve, look: testbed.look(i, theme), open: !!op.latency_from_intended_us};
    });
  };

  function workColor(theme, looks, work) {
    if (work === 'hit') return theme.rest;
    if (work === 'foreign' || work === 'kernel threads') return theme.muted;
    if (work === 'user') return theme.ink;
    return looks[work] ? looks[work].color : theme.rest;
  }

  // Returns the plot of the ledger of a phase in one way ('read' or 'write'); null when there was no IO in it.
  testbed.ledgerPlot = function (phase, engineName, way, theme, width) {
    var graph = testbed.ledgerGraph(phase, engineName, way), narrow = width < 560, right = narrow ? 70 : 132;
    if (graph.links.length === 0) return null;
    var looks = testbed.workLooks(graph.work, theme), inflow = {}, outflow = {}, columns = {}, deepest = 0;
    graph.links.forEach(function (link) {
      outflow[link.source] = (outflow[link.source] || 0) + link.value;
      inflow[link.target] = (inflow[link.target] || 0) + link.value;
    });
    graph.nodes.forEach(function (node) {
      columns[node.depth] = (columns[node.depth] || 0) + 1;
      deepest = Math.max(deepest, node.depth);
    });
    var rows = Math.max.apply(null, Object.keys(columns).map(function (depth) { return columns[depth]; }));
    var option = testbed.basePlot(theme), small = narrow ? 9 : 11;
    function bytes(name) { return testbed.bytes(Math.max(inflow[name] || 0, outflow[name] || 0)); }
    option.series = [{
      type: 'sankey', left: 4, right: right, top: 34, bottom: 12, nodeWidth: 9, nodeGap: narrow ? 26 : 24, nodeAlign: 'left',
      layoutIterations: 64, draggable: false, emphasis: {focus: 'trajectory'},
      label: {color: theme.ink, fontSize: narrow ? 10 : 12, lineHeight: narrow ? 12 : 15, fontFamily: theme.font, position: 'right', distance: 6,
              textBorderColor: theme.background, textBorderWidth: 2.5},
      data: graph.nodes.map(function (node) {
        return {name: node.name, depth: node.depth, says: node.label, itemStyle: {color: theme.ink, borderWidth: 0}, label: {
          formatter: function () { return testbed.line(node.label) + '\n{b|' + bytes(node.name) + '}'; },
          rich: {b: {color: theme.muted, fontSize: small, lineHeight: narrow ? 12 : 14, fontFamily: theme.font,
                     textBorderColor: theme.background, textBorderWidth: 2.5}}
        }};
      }),
      links: graph.links.map(function (link) {
        return {source: link.source, target: link.target, value: link.value, says: link.says,
                lineStyle: {color: workColor(theme, looks, link.work), opacity: link.work === 'hit' ? 0.3 : 0.5, curveness: 0.5}};
      })
    }];
    var heads = way === 'read' ? ['operation', 'engine', 'file', 'kernel', 'device'] : ['written', 'engine', 'work', 'file', 'kernel', 'device'];
    option.title = heads.slice(0, deepest + 1).map(function (head, i) {
      return {text: head, left: 4 + (width - right - 13) * i / deepest, top: 4, padding: 0,
              textStyle: {fontSize: narrow ? 10 : 11, fontWeight: 600, color: theme.muted, fontFamily: theme.font}};
    });
    option.tooltip.trigger = 'item';
    option.tooltip.formatter = function (p) {
      if (p.dataType === 'edge') return testbed.escape(p.data.says) + '<br><b>' + testbed.bytes(p.data.value) + '</b>';
      var into = inflow[p.name] || 0, out = outflow[p.name] || 0;
      return testbed.escape(p.data.says) + (into ? '<br>in&ensp;<b>' + testbed.bytes(into) + '</b>' : '') +
          (out ? '<br>out&ensp;<b>' + testbed.bytes(out) + '</b>' : '') +
          (into && out ? '<br>out / in&ensp;<b>' + testbed.short(out / into) + '</b>' : '');
    };
    return {option: option, height: Math.max(220, 60 + rows * 64)};
  };

  // Returns the histogram of device reads (or file reads) that operations caused; null when no operation is counted.
  testbed.blocksPlot = function (phase, theme, width) {
    var narrow = width < 560, option = testbed.basePlot(theme), counted = [];
    ((phase.account || {}).causes || []).forEach(function (cause) {
      var kernel = cause.kernel_reads_histogram, file = cause.file_reads_histogram;
      var has = function (h) { return h && testbed.sum(h) > 0; };
      if (cause.ground !== 'foreground' || !(cause.operations > 0)) return;
      if (has(kernel)) counted.push({name: cause.name + ', kernel requests', values: kernel, all: testbed.sum(kernel)});
      if (has(file)) counted.push({name: cause.name + ', file reads', values: file, all: testbed.sum(file)});
    });
    counted = counted.filter(function (c) { return c.values[0] < 0.9995 * c.all; }).slice(0, 6);
    if (counted.length === 0) return null;
    // Bars too small to be visible are joined with the last visible one.
    var last = Math.max.apply(null, counted.map(function (c) {
      for (var i = c.values.length - 1; i > 2; --i) if (c.values[i] > c.all / 500) return i;
      return 2;
    }));
    counted.forEach(function (c) { c.values = c.values.slice(0, last).concat(testbed.sum(c.values.slice(last))); });
    var names = [];
    for (var i = 0; i <= last; ++i) names.push(i === last ? i + ' or more' : String(i));
    var shown = counted.map(function (c) { return c.name; }), above = Math.max(22, testbed.legendHeight(shown, width));
    option.grid = {left: narrow ? 46 : 62, right: narrow ? 10 : 20, top: 18 + above, bottom: 46};
    option.xAxis = testbed.plotAxis(theme, {type: 'category', data: names, name: 'reads of one operation', nameLocation: 'middle', nameGap: 28,
                                            splitLine: {show: false}});
    option.yAxis = testbed.plotAxis(theme, {type: 'value', min: 0, splitNumber: 4, axisLabel: {formatter: function (v) { return testbed.short(v) + ' %'; }}});
    option.series = counted.map(function (c, i) {
      var look = testbed.look(i, theme);
      return {name: c.name, type: 'bar', barMaxWidth: 36, barGap: '8%', itemStyle: {color: look.color}, emphasis: {disabled: true},
              data: c.values.slice(0, last + 1).map(function (n) { return {value: 100 * n / c.all, count: n}; })};
    });
    option.legend = testbed.plotLegend(theme, shown);
    option.legend.show = true;
    option.tooltip.trigger = 'axis';
    option.tooltip.axisPointer = {type: 'shadow'};
    option.tooltip.formatter = function (p) {
      return p[0].name + ' reads<br>' + p.map(function (one) {
        return one.marker + testbed.escape(one.seriesName) + '&ensp;<b>' + testbed.short(one.value) + ' %</b> (' + testbed.count(one.data.count) + ')';
      }).join('<br>');
    };
    return {option: option, height: 258 + above};
  };
})(testbed);
