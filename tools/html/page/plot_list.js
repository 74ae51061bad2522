// The list of all plots of a page, for files (--svg, --png). ECMAScript 5.
(function (testbed) {
  'use strict';

  // Returns the name of a file for these words. A name that would be too long has its longest words cut, so that each
  // plot keeps the word that says what it shows.
  function fileName(words) {
    var most = 120, least = 8, parts = words.map(function (word) {
      return String(word).replace(/[^A-Za-z0-9.]+/g, '-').replace(/^[-.]+|-+$/g, '');
    }).filter(function (word) { return word !== ''; });
    function longest(best, part, i) { return part.length > parts[best].length ? i : best; }
    for (var over; (over = parts.join('_').length - most) > 0;) {
      var at = parts.reduce(longest, 0);
      if (parts[at].length <= least) break;
      parts[at] = parts[at].substr(0, Math.max(least, parts[at].length - over));
    }
    return parts.join('_') || 'plot';
  }

  function sourceName(source) { return String(source).replace(/^.*\//, '').replace(/\.json$/, ''); }

  // Returns the words that tell the runs of a document from each other. Loads and repeats are counted from 1, as in the
  // tables of the report.
  function wordsOf(run) {
    return [run.threads + 'thr', run.load > 0 ? 'load' + (run.load + 1) : '', run.repeat > 0 ? 'repeat' + (run.repeat + 1) : ''];
  }

  // Adds the plots of each side of a comparison by `testbed ab`.
  function addComparison(comparison, theme, width, add) {
    var several = comparison.sides.length > 2, source = sourceName(comparison.source);
    comparison.sides.slice(1).forEach(function (side) {
      var words = several ? [source, side.label] : [source];
      var changes = testbed.changesPlot(testbed.changesOf(comparison, side.label), comparison.until, theme, width);
      if (changes) add(words.concat(['changes']), changes);
      comparison.loads.forEach(function (of) {
        if (of.side !== side.label) return;
        var loads = testbed.loadsPlot(of, testbed.rateAnswer(comparison, side.label), comparison.until, theme, width);
        if (loads) add(words.concat(['loads']), loads);
      });
    });
  }

  function isWhole(choice) {
    return Object.keys(choice.fixed).every(function (axis) { return choice.fixed[axis] < 0; });
  }

  // Adds the plots of an experiment: of each series over its numbers, then of each metric over an axis. A metric of a
  // series has none over an axis of two labels, nor over one of names when the plot of the series shows all of its figures.
  function addExperiment(experiment, theme, width, add) {
    var choice = testbed.curveChoice(experiment), axis = testbed.curveAxes(experiment)[0], shown = [];
    testbed.seriesInOrder(experiment).forEach(function (series) {
      var course = testbed.seriesChoice(experiment, series), plot = testbed.curvePlot(experiment, course, theme, width);
      if (plot) add([experiment.name, series.stem, 'over', series.over], plot);
      if (axis && (axis.labels.length < 3 || (!axis.numbers && isWhole(course)))) shown = shown.concat(series.metrics);
    });
    if (choice === null) return;
    experiment.metrics.forEach(function (metric, i) {
      if (shown.indexOf(i) >= 0) return;
      choice.metric = i;
      var plot = testbed.curvePlot(experiment, choice, theme, width);
      if (plot) add([experiment.name, metric.name, 'over', axis.name], plot);
    });
  }

  // Returns the plots of a phase: [{key, title, plot}].
  testbed.phasePlots = function (document, run, phase, theme, width) {
    var engine = testbed.engineName(run, document);
    return [
      {key: 'time', title: 'Rate and latency over time', plot: testbed.timePlot(phase, theme, width)},
      {key: 'latency', title: 'Latency by percentile', plot: testbed.latencyPlot(testbed.phaseCurves(phase, theme), theme, width)},
      {key: 'reads', title: 'Where reads come from', plot: testbed.ledgerPlot(phase, engine, 'read', theme, width)},
      {key: 'writes', title: 'Where writes go', plot: testbed.ledgerPlot(phase, engine, 'write', theme, width)},
      {key: 'blocks', title: 'Reads of one operation', plot: testbed.blocksPlot(phase, theme, width)},
      {key: 'memory', title: 'Memory by part', plot: testbed.memoryPlot(phase, theme, width)}
    ].filter(function (one) { return one.plot !== null; });
  };

  // Returns all plots of the page's data: [{name, width, height, option}]. Names are fit for files, and no two are
  // the same.
  testbed.allPlots = function (data, themeName, width) {
    var theme = testbed.theme(themeName), plots = [], used = {};
    function add(words, plot) {
      var base = fileName(words), name = base;
      for (var n = 2; used['$' + name]; ++n) name = base + '_' + n;
      used['$' + name] = true;
      plot.option.backgroundColor = theme.background;
      plots.push({name: name, width: width, height: plot.height, option: plot.option});
    }
    (data.comparisons || []).forEach(function (comparison) { addComparison(comparison, theme, width, add); });
    testbed.comparedCells(data.compared).forEach(function (one) {
      var plot = testbed.changesPlot(one.rows, data.compared.until, theme, width);
      if (plot) add(['side-by-side', one.cell, 'changes'], plot);
    });
    testbed.comparisonGroups(data.documents).forEach(function (group) {
      var rates = testbed.ratesPlot(group, theme, width), latency = testbed.latencyPlot(testbed.groupCurves(group, theme), theme, width);
      if (rates) add(['side-by-side', group.title, 'rates'], rates);
      if (latency) add(['side-by-side', group.title, 'latency'], latency);
    });
    (data.experiments || []).forEach(function (experiment) { addExperiment(experiment, theme, width, add); });
    data.documents.forEach(function (entry) {
      var document = entry.document, source = sourceName(entry.source);
      (document.runs || []).forEach(function (run) {
        testbed.resultPhases(run).forEach(function (i) {
          var phase = run.phases[i], words = [source, phase.name];
          if (document.runs.length > 1) words = words.concat(wordsOf(run));
          testbed.phasePlots(document, run, phase, theme, width).forEach(function (one) { add(words.concat([one.key]), one.plot); });
        });
        (run.find_rate || []).forEach(function (found) {
          var plot = testbed.ratePlot(found, theme, width), words = [source, found.name];
          if (plot) add(words.concat(document.runs.length > 1 ? wordsOf(run) : [], 'find-rate'), plot);
        });
        var space = testbed.spacePlot(document, run, theme, width), of = [];
        if (space && document.runs.length > 1) of = [run.phases[run.phases.length - 1].name].concat(wordsOf(run));
        if (space) add([source].concat(of, 'space'), space);
      });
    });
    return plots;
  };

  // Returns the plot as the text of an SVG file.
  testbed.plotSvg = function (plot) {
    // The library supposes a narrow font where it has no canvas.
    echarts.setPlatformAPI({
      measureText: function (text, font) {
        var size = /([0-9.]+)px/.exec(font || '');
        return {width: testbed.textWidth(String(text), size ? Number(size[1]) : 12)};
      }
    });
    var chart = echarts.init(null, null, {renderer: 'svg', ssr: true, width: plot.width, height: plot.height});
    chart.setOption(plot.option);
    var text = chart.renderToSVGString();
    chart.dispose();
    // XML has no such characters, not even as references: a name with one would make the file unreadable.
    text = text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, ' ');
    // Programs other than browsers seldom support the property that centres a line of text, so a shift replaces it.
    return text.replace(/ dominant-baseline="central"/g, ' dy="0.35em"');
  };
})(testbed);
