// The plot of a search by --find-rate: latency over the rate. ECMAScript 5.
(function (testbed) {
  'use strict';

  // Returns the places of the steps in their list: those with a target from the lowest rate up, then the closed loop.
  testbed.rateOrder = function (found) {
    function target(i) {
      var rate = found.steps[i].target_rate;
      return typeof rate === 'number' ? rate : Infinity;
    }
    return found.steps.map(function (step, i) { return i; }).sort(function (a, b) { return target(a) - target(b) || a - b; });
  };

  function shareName(share) { return share === 0.5 ? 'median' : parseFloat((share * 100).toPrecision(6)) + ' %'; }

  // Returns the percentiles of a step that are shown: [{name, share, figure}]. The limited one is the last, unless it
  // is one of the others.
  testbed.rateFigures = function (found) {
    var figures = [{name: 'median', share: 0.5, figure: 'p50_us'}, {name: '99 %', share: 0.99, figure: 'p99_us'}];
    var limited = {name: shareName(found.limited_share), share: found.limited_share, figure: 'limited_us'};
    if (!figures.some(function (one) { return one.name === limited.name; })) figures.push(limited);
    return figures;
  };

  // Returns whether a step tells the percentile: at least ten operations took longer.
  testbed.stepTells = function (step, share) {
    return (step.latency_count === undefined ? step.count : step.latency_count) * (1 - share) >= 10;
  };

  function curveOf(figure, steps, look) {
    return {
      name: figure.name, type: 'line', symbol: look.symbol, symbolSize: 7, emphasis: {disabled: true},
      lineStyle: {color: look.color, width: 1.8, type: look.dash}, itemStyle: {color: look.color},
      data: steps.filter(function (step) { return testbed.stepTells(step, figure.share) && step[figure.figure] > 0; }).map(function (step) {
        return {value: [step.target_rate, step[figure.figure]], says: step};
      })
    };
  }

  // Returns the limit as a level line, so that the axis has room for it.
  function limitLine(found, name, least, most, theme) {
    var line = {
      name: name, type: 'line', silent: true, symbol: 'none', data: [[least, found.limit_us], [most, found.limit_us]],
      lineStyle: {color: theme.alarm, width: 1.2, type: 'dashed'}, itemStyle: {color: theme.alarm}, tooltip: {show: false}, emphasis: {disabled: true}
    };
    if (found.found_rate > 0) {
      line.markLine = {silent: true, symbol: 'none', data: [{xAxis: found.found_rate}], lineStyle: {color: theme.ink, type: 'dashed', width: 1},
                       label: {position: 'end', formatter: 'found ' + testbed.short(found.found_rate), color: theme.ink, fontSize: 11}};
    }
    return line;
  }

  // Returns the plot of latency over the rates that a search tried; null when these are fewer than two.
  testbed.ratePlot = function (found, theme, width) {
    var steps = testbed.rateOrder(found).map(function (i) { return found.steps[i]; }).filter(function (step) { return step.target_rate > 0; });
    if (steps.length < 2) return null;
    var rates = steps.map(function (step) { return step.target_rate; }), least = rates[0], most = rates[rates.length - 1];
    var narrow = width < 560, option = testbed.basePlot(theme), logX = most / least >= 8, limit = 'limit ' + testbed.time(found.limit_us);
    option.series = testbed.rateFigures(found).map(function (figure, i) { return curveOf(figure, steps, testbed.look(i, theme)); })
        .filter(function (series) { return series.data.length > 0; });
    option.series.push(limitLine(found, limit, least, most, theme));
    option.legend = testbed.plotLegend(theme, option.series.map(function (series) { return series.name; }));
    option.grid = {left: narrow ? 52 : 66, right: narrow ? 16 : 28, top: 58, bottom: 46};
    option.xAxis = testbed.plotAxis(theme, {
      type: logX ? 'log' : 'value', logBase: 2, min: logX ? least / 1.15 : least - (most - least) / 20, max: logX ? most * 1.15 : most + (most - least) / 20,
      axisTick: {customValues: rates, show: true, lineStyle: {color: theme.rule}}, axisLabel: {customValues: rates, formatter: testbed.axis},
      splitLine: {show: false}, name: 'operations a second asked for', nameLocation: 'middle', nameGap: 28
    });
    option.yAxis = testbed.plotAxis(theme, {type: 'log', axisLabel: {formatter: testbed.time}});
    option.tooltip.trigger = 'item';
    option.tooltip.formatter = function (p) {
      var step = p.data.says;
      if (!step) return '';
      return testbed.short(step.target_rate) + ' a second<br>' + p.marker + testbed.escape(p.seriesName) + '&ensp;<b>' + testbed.time(p.value[1]) + '</b>' +
          '<br>slower than the limit&ensp;<b>' + testbed.percent(step.slower_share) + '</b>';
    };
    return {option: option, height: 320};
  };
})(testbed);
