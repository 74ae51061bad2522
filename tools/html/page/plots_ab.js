// Plots of a comparison: how far each metric changed, with its interval, and what each load says. ECMAScript 5.
(function (testbed) {
  'use strict';

  // Returns about `few` ticks on each side of 0 of an axis of logarithms of ratios: changes in per cent while the axis
  // ends before a factor of two, else factors.
  function ratioTicks(low, high, few) {
    var reach = Math.max(-low, high), ticks = [0], k, step;
    if (reach >= Math.LN2) {
      step = reach > 6 * Math.LN2 ? Math.LN10 : Math.LN2;
      step *= Math.max(1, Math.ceil(reach / step / few));
      for (k = 1; k * step <= reach; ++k) ticks.push(k * step, -k * step);
    } else {
      var steps = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5], most = Math.exp(reach) - 1, i = 0;
      while (i + 1 < steps.length && steps[i] * few < most) ++i;
      step = steps[i];
      for (k = 1; Math.log(1 + k * step) <= reach; ++k) ticks.push(Math.log(1 + k * step), k * step < 1 ? Math.log(1 - k * step) : NaN);
    }
    return ticks.filter(function (x) { return x >= low && x <= high; }).sort(function (x, y) { return x - y; });
  }

  // Returns the label of a place on such an axis: +2 %, −50 %, × 4, ÷ 8.
  function ratioLabel(log) {
    var ratio = Math.exp(log), size = Math.exp(Math.abs(log));
    if (Math.abs(log) < 1e-9) return '0 %';
    if (size > 1.99) return (log > 0 ? '× ' : '÷ ') + testbed.short(size);
    return (log > 0 ? '+' : '−') + parseFloat((Math.abs(ratio - 1) * 100).toPrecision(2)) + ' %';
  }

  function ratioAxis(theme, low, high, few, name) {
    var ticks = ratioTicks(low, high, few);
    return testbed.plotAxis(theme, {
      type: 'value', min: low, max: high, name: name, nameLocation: 'middle', nameGap: 28, splitLine: {show: false},
      axisTick: {customValues: ticks, show: true, lineStyle: {color: theme.rule}}, axisLabel: {customValues: ticks, formatter: ratioLabel}
    });
  }

  function bounded(row) {
    return row.scale === 'ratio' && row.effect > 0 && row.low > 0 && row.high > 0;
  }

  function farthest(row) { return Math.max(Math.abs(Math.log(row.low)), Math.abs(Math.log(row.high))); }

  // Returns how far the axis reaches: to the ends of the intervals that were asked for and of half of the others. One
  // metric that changed a hundredfold would make the others a line.
  function reachOf(rows, until) {
    var ends = rows.map(farthest).sort(function (x, y) { return x - y; });
    var reach = Math.max(3 * Math.log(1 + until), ends[Math.floor((ends.length - 1) / 2)]);
    rows.forEach(function (row) { if (row.asked) reach = Math.max(reach, farthest(row)); });
    return reach * 1.12;
  }

  // The look of an answer. Better and worse differ by their side of 0, too, and what is not told is hollow.
  function answerLook(answer, theme) {
    if (answer === 'faster' || answer === 'lower') return {color: testbed.look(2, theme).color, told: true};
    if (answer === 'slower' || answer === 'higher') return {color: testbed.look(1, theme).color, told: true};
    return {color: theme.rest, told: answer === 'same'};
  }

  // Returns the mark of an interval: a line with an end at each bound, or an arrow where the axis ends before it. Of an
  // interval beyond the axis the arrow alone is drawn.
  function interval(reach) {
    return function (params, api) {
      var row = api.value(1), ends = [api.value(0), api.value(2)], look = {stroke: api.visual('color'), fill: null, lineWidth: 1.8}, parts = [];
      var at = ends.map(function (x) { return api.coord([Math.max(-reach, Math.min(reach, x)), row]); });
      function lines(points) { parts.push({type: 'polyline', shape: {points: points}, style: look}); }
      if (ends[0] >= reach) at[0] = [at[0][0] - 16, at[0][1]];
      if (ends[1] <= -reach) at[1] = [at[1][0] + 16, at[1][1]];
      lines(at);
      at.forEach(function (p, i) {
        var back = ends[i] > 0 ? -6 : 6;
        if (Math.abs(ends[i]) <= reach) {
          lines([[p[0], p[1] - 5], [p[0], p[1] + 5]]);
        } else if ((ends[i] > 0) === (i === 1)) {
          lines([[p[0] + back, p[1] - 5], p, [p[0] + back, p[1] + 5]]);
        }
      });
      return {type: 'group', children: parts};
    };
  }

  // Returns the lines and the band that both plots have: no change, and the changes that count as none.
  function sameMarks(theme, until, horizontal) {
    var band = Math.log(1 + until), axis = horizontal ? 'yAxis' : 'xAxis', from = {}, to = {}, none = {};
    from[axis] = -band;
    to[axis] = band;
    none[axis] = 0;
    return {
      markArea: {silent: true, itemStyle: {color: theme.faint}, data: [[from, to]]},
      markLine: {silent: true, symbol: 'none', label: {show: false}, lineStyle: {color: theme.muted, width: 1, type: 'solid'}, data: [none]}
    };
  }

  // Returns the plot of changes with their intervals around 0 %; null when none has an interval. A row has "name" and
  // "change", its text, and what an answer of the data has (comparison_data.h).
  testbed.changesPlot = function (all, until, theme, width) {
    var rows = all.filter(bounded), narrow = width < 560;
    if (rows.length === 0) return null;
    var reach = reachOf(rows, until), option = testbed.basePlot(theme), marks = sameMarks(theme, until, false);
    var axis = {type: 'category', inverse: true, axisTick: {show: false}, splitLine: {show: false}};
    function names(of, settings) {
      var one = testbed.plotAxis(theme, axis);
      one.data = rows.map(of);
      one.axisLabel.interval = 0;
      one.axisLabel.hideOverlap = false;
      one.axisLine = {show: false};
      Object.keys(settings).forEach(function (name) { one[name] = settings[name]; });
      return one;
    }
    option.grid = {left: narrow ? 112 : 150, right: narrow ? 14 : 190, top: 8, bottom: 44};
    option.xAxis = ratioAxis(theme, -reach, reach, narrow ? 2 : 4, 'change');
    option.yAxis = [names(function (row) { return row.name; }, {}), names(function (row) { return row.change.length > 28 ? row.change.replace(/ \(.*$/, '') : row.change; }, {position: 'right', show: !narrow})];
    option.yAxis[0].axisLabel.color = theme.ink;
    function points(told) {
      var data = [];
      rows.forEach(function (row, i) {
        var look = answerLook(row.answer, theme);
        if (look.told !== told || Math.abs(Math.log(row.effect)) > reach) return;
        data.push({value: [Math.log(row.effect), i], says: row, itemStyle: told ? {color: look.color} : {color: theme.background, borderColor: look.color, borderWidth: 1.8}});
      });
      return {type: 'scatter', symbol: 'circle', symbolSize: 9, z: 4, data: data};
    }
    option.series = [
      {type: 'custom', silent: true, z: 3, encode: {x: [0, 2], y: 1}, renderItem: interval(reach), markArea: marks.markArea, markLine: marks.markLine,
       data: rows.map(function (row, i) {
         return {value: [Math.log(row.low), i, Math.log(row.high)], itemStyle: {color: answerLook(row.answer, theme).color}};
       })},
      points(true), points(false)
    ];
    option.tooltip.trigger = 'item';
    option.tooltip.formatter = function (p) {
      var says = p.data && p.data.says;
      return says ? testbed.escape(says.name) + '<br><b>' + testbed.escape(says.change) + '</b>&ensp;' + testbed.escape(says.answer) : '';
    };
    return {option: option, height: 60 + 24 * rows.length};
  };

  // Returns the plot of the loads of a side (of "loads" in comparison_data.h) around the effect and the interval of the
  // rate's answer; null when fewer than two loads are known.
  testbed.loadsPlot = function (side, answer, until, theme, width) {
    var known = side.effects.filter(function (load) { return typeof load.log === 'number'; }), narrow = width < 560;
    if (known.length < 2) return null;
    var has = answer && bounded(answer), option = testbed.basePlot(theme), marks = sameMarks(theme, until, true);
    var low = -1.6 * Math.log(1 + until), high = -low, within = function (x) { return Math.max(low, Math.min(high, x)); };
    known.forEach(function (load) {
      low = Math.min(low, load.log);
      high = Math.max(high, load.log);
    });
    // A wide interval must not press the dots into a line.
    var span = high - low, ends = has ? [Math.log(answer.low), Math.log(answer.high)] : [0, 0];
    low = Math.max(low - span, Math.min(low, ends[0])) - span / 12;
    high = Math.min(high + span, Math.max(high, ends[1])) + span / 12;
    if (has) {
      marks.markArea.data.push([{yAxis: within(ends[0]), itemStyle: {color: theme.band}}, {yAxis: within(ends[1])}]);
      marks.markLine.data.push({yAxis: Math.log(answer.effect), lineStyle: {color: theme.alarm, type: 'dashed', width: 1.4}});
    }
    option.grid = {left: narrow ? 52 : 70, right: narrow ? 12 : 28, top: 14, bottom: 46};
    option.xAxis = testbed.plotAxis(theme, {type: 'category', data: side.effects.map(function (load) { return String(load.load + 1); }), name: 'load', nameLocation: 'middle',
                                            nameGap: 28, splitLine: {show: false}});
    option.xAxis.axisLine.onZero = false;
    option.yAxis = ratioAxis(theme, low, high, 4, '');
    var color = testbed.look(0, theme).color;
    option.series = [{
      type: 'scatter', symbol: 'circle', symbolSize: 9, z: 4, markArea: marks.markArea, markLine: marks.markLine,
      data: side.effects.map(function (load) {
        return {value: [String(load.load + 1), typeof load.log === 'number' ? load.log : '-'],
                itemStyle: load.counted ? {color: color} : {color: theme.background, borderColor: color, borderWidth: 1.8}};
      })
    }];
    option.tooltip.trigger = 'item';
    option.tooltip.formatter = function (p) {
      return p.value ? 'load ' + testbed.escape(p.value[0]) + '&ensp;<b>' + testbed.escape(ratioLabel(p.value[1])) + '</b>' : '';
    };
    return {option: option, height: 240};
  };

  // Returns the rows of the plot of changes for a side of a comparison.
  testbed.changesOf = function (comparison, side) {
    var change = comparison.metrics.columns.indexOf('change'), rows = [];
    comparison.answers.forEach(function (answer, i) {
      if (answer.side !== side) return;
      rows.push({name: answer.metric, change: comparison.metrics.rows[i][change], answer: answer.answer, asked: answer.asked, scale: answer.scale,
                 effect: answer.effect, low: answer.low, high: answer.high});
    });
    return rows;
  };

  // Returns the answer about the rate of a side.
  testbed.rateAnswer = function (comparison, side) {
    return comparison.answers.filter(function (answer) { return answer.side === side && answer.metric === 'rate'; })[0];
  };

  // Returns the cells of a comparison of two documents, with the rows of their plots: [{cell, rows}].
  testbed.comparedCells = function (compared) {
    var cells = [], byName = {};
    if (!compared || !compared.answers) return cells;
    var change = compared.table.columns.indexOf('change (interval)');
    compared.answers.forEach(function (answer, i) {
      if (!byName['$' + answer.cell]) {
        byName['$' + answer.cell] = {cell: answer.cell, rows: []};
        cells.push(byName['$' + answer.cell]);
      }
      // On other terms nothing is told, whatever the interval says.
      byName['$' + answer.cell].rows.push({name: answer.metric, change: compared.table.rows[i][change], answer: compared.comparable ? answer.answer : 'cannot be told',
                                           asked: answer.metric === 'rate', scale: answer.scale, effect: answer.effect, low: answer.low, high: answer.high});
    });
    return cells;
  };
})(testbed);
