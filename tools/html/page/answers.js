// The answer to "what does one operation cost the device, and why?" of a phase, in sentences. ECMAScript 5.
(function (testbed) {
  'use strict';

  testbed.engineName = function (run, document) {
    return (run.engine && run.engine.name) || (document.options && document.options.engine) || 'engine';
  };

  // Returns the phases of a run that are results: loads and measurements.
  testbed.resultPhases = function (run) {
    var list = [];
    (run.phases || []).forEach(function (phase, i) {
      if ((phase.kind === 'measure' || phase.kind === 'load') && (phase.operations || []).length > 0) list.push(i);
    });
    return list;
  };

  // Returns the index of the phase whose result the page shows first: the last measured one, otherwise the last load;
  // -1 without either.
  testbed.mainPhase = function (run) {
    var list = testbed.resultPhases(run);
    for (var i = list.length - 1; i >= 0; --i) if (run.phases[list[i]].kind === 'measure') return list[i];
    return list.length > 0 ? list[list.length - 1] : -1;
  };

  // Returns the name of the latency that a client waited for: from the intended start in an open loop.
  testbed.latencyName = function (op) { return op.latency_from_intended_us ? 'latency_from_intended_us' : 'latency_us'; };
  testbed.isOpen = function (phase) {
    return (phase.operations || []).some(function (op) { return op.latency_from_intended_us; });
  };

  var shares = {p50: 0.5, p99: 0.99, p999: 0.999};

  // Returns whether there are enough operations for the figure of a latency, whose name is `latency`: at least ten took
  // longer than the percentile (TellsPercentile of tools/report/figures.h). Latencies from the intended start have a
  // count of their own, with the operations that were due and had not begun.
  testbed.tells = function (op, figure, latency) {
    var count = (op[latency] || {}).count;
    return !(figure in shares) || (count === undefined ? op.count : count) * (1 - shares[figure]) >= 10;
  };

  // Returns the clients of the run, and in how many tasks there were as many in the phase, where it is given.
  testbed.clientsOf = function (run, phase) {
    var tasks = ((phase || {}).tasks || []).length;
    return testbed.counted(String(run.threads), 'client') + (tasks > 1 ? ' in each of ' + tasks + ' tasks' : '');
  };

  // Returns which of several loads and runs of a document this run is, as the tables of the report name it: " load 2 #3".
  testbed.whichRun = function (run) {
    return (run.load > 0 ? ' load ' + (run.load + 1) : '') + (run.repeat > 0 ? ' #' + (run.repeat + 1) : '');
  };

  // Returns the rate that the clients reached. Operations beside a target rate, such as those of a writer without one,
  // are not of it.
  testbed.reached = function (phase) {
    return phase.target_rate > 0 && typeof phase.clients_rate === 'number' ? phase.clients_rate : phase.rate;
  };

  // Returns the phases of the name that are results of the run: a workload may be given twice.
  function namesakes(run, name) {
    return testbed.resultPhases(run).map(function (p) { return run.phases[p]; }).filter(function (phase) { return phase.name === name; });
  }

  function meanOf(figures) { return testbed.sum(figures) / figures.length; }

  // Returns the sentence on the mean rate over the loads of a document, or over the runs of its only load, that had this
  // phase with as many clients; empty when there is one run alone. The rate of a load is the mean over its runs, as in
  // the repeats of the report. The other sentences are of a single run.
  function meanSentence(document, run, phase) {
    var runs = [], loads = {}, place = namesakes(run, phase.name).indexOf(phase);
    (document.runs || []).forEach(function (other) {
      var same = namesakes(other, phase.name)[place], load = other.load > 0 ? other.load : 0;
      if (other.threads !== run.threads || !same || same.partial) return;
      loads[load] = (loads[load] || []).concat(testbed.reached(same));
      runs.push(testbed.reached(same));
    });
    if (runs.length < 2) return '';
    var means = Object.keys(loads).map(function (load) { return meanOf(loads[load]); });
    var rates = means.length > 1 ? means : runs, of = rates.length + (means.length > 1 ? ' loads' : ' runs');
    return phase.name + ' with ' + testbed.clientsOf(run, phase) + ': ' + testbed.counted(testbed.short(meanOf(rates)), 'operation') + ' a second, the mean of ' + of +
        ', which had ' + testbed.short(Math.min.apply(null, rates)) + ' to ' + testbed.short(Math.max.apply(null, rates)) + '. What follows is of the first of them.';
  }

  // Returns the sentence on the rate and latency that the clients saw.
  function rateSentence(run, phase) {
    var one = phase.operations.length === 1 ? phase.operations[0] : null;
    var text = phase.name + ' with ' + testbed.clientsOf(run, phase) + ': ' + testbed.counted(testbed.short(testbed.reached(phase)), 'operation') + ' a second';
    if (phase.target_rate > 0) text += ', of ' + testbed.short(phase.target_rate) + ' asked for';
    if (one) return text + '; ' + (testbed.isOpen(phase) ? 'from the intended start ' : '') + spans(one) + '.';
    return text + '; of it ' + phase.operations.map(function (op) {
      var latency = testbed.latencyName(op), us = op[latency], tells = testbed.tells(op, 'p99', latency);
      return testbed.short(op.rate) + ' ' + op.name + ' (' + (tells ? '99 % within ' + testbed.time(us.p99) : 'the slowest ' + testbed.time(us.max)) +
          (op.latency_from_intended_us ? ' from the intended start' : '') + ')';
    }).join(', ') + '.';
  }

  // Returns the sentences on the rate that --find-rate found for the phase. The measured phases of a workload have a search
  // each, in their order.
  function foundSentences(run, phase) {
    var named = function (one) { return one.name === phase.name; };
    var at = (run.phases || []).filter(function (one) { return one.kind === 'measure' && named(one); }).indexOf(phase);
    var found = (run.find_rate || []).filter(named);
    return (at < 0 ? found : found.slice(at, at + 1)).map(function (one) { return String(one.sentence); });
  }

  // Returns the sentences on a document without a phase that is a result: [{text, alarm}]. A search by --find-rate
  // has one even when it was interrupted.
  testbed.unfinishedAnswers = function (document) {
    var runs = document.runs || [], says = [];
    runs.forEach(function (run) {
      (run.find_rate || []).forEach(function (found) { says.push({text: String(found.sentence)}); });
    });
    says.push({text: 'This document holds no phase that was finished.'});
    runs.forEach(function (run) {
      if (run.error) says.push({text: 'The run failed: ' + run.error.sentence, alarm: true});
    });
    return says;
  };

  // Returns how long the operations of a kind took, as far as they are enough to tell.
  function spans(op) {
    var latency = testbed.latencyName(op), us = op[latency], parts = [];
    if (testbed.tells(op, 'p50', latency)) parts.push('half took up to ' + testbed.time(us.p50));
    if (testbed.tells(op, 'p99', latency)) parts.push('99 % up to ' + testbed.time(us.p99));
    return parts.concat('the slowest ' + (parts.length > 0 ? '' : 'took ') + testbed.time(us.max)).join(', ');
  }

  // Returns the sentence on reads: how many each cache answered, and how many the device had to answer.
  function readSentence(phase) {
    var account = phase.account || {}, engine = account.engine || {}, own = testbed.own(account), parts = [];
    if (!own || !(phase.rows_read > 0) || !(phase.count > 0)) return '';
    if (engine.block_requests > 0) {
      parts.push('the engine\u2019s cache answered ' + testbed.percent(engine.block_hits / engine.block_requests) + ' of its block requests');
    }
    parts.push('the device read ' + testbed.counted(testbed.short(own.reads / testbed.charged(phase)), 'time') + ' and ' + testbed.bytes(own.read_bytes / testbed.charged(phase)) + ' for each operation');
    return sentence(parts);
  }

  // Returns the accounts of the phase and of the settle right behind it, whose writes count against the phase.
  function accountsToRest(run, phase) {
    var phases = run.phases || [], i = phases.indexOf(phase), accounts = [phase.account || {}];
    while (i >= 0 && ++i < phases.length && phases[i].kind === 'settle') accounts.push(phases[i].account || {});
    return accounts;
  }

  function writeSentence(run, phase) {
    var accounts = accountsToRest(run, phase), devices = accounts.map(function (account) { return testbed.own(account); });
    if (devices.indexOf(null) >= 0 || !(phase.user_bytes_written > 0)) return '';
    var own = testbed.sum(devices, function (device) { return device.write_bytes; }), causes = {}, most = null;
    accounts.forEach(function (account) {
      testbed.flows(account, 'write').causes.forEach(function (cause) {
        var one = causes['$' + cause.name] = causes['$' + cause.name] || {name: cause.name, kernel: 0};
        one.kernel += cause.kernel;
        if (!most || one.kernel > most.kernel) most = one;
      });
    });
    var text = 'For each byte of keys and values the device wrote ' + testbed.counted(testbed.short(own / phase.user_bytes_written), 'byte');
    if (accounts.length > 1) text += ' in the phase and the settle behind it';
    if (most && most.kernel > 0 && own > 0) text += ', ' + testbed.percent(most.kernel / own) + ' of them by ' + most.name;
    return text + '.';
  }

  function sentence(parts) {
    var text = parts.join('; ');
    return text.charAt(0).toUpperCase() + text.slice(1) + '.';
  }

  // Returns the reads and the writes by which an account is off: "2 reads (8,192 bytes)".
  testbed.closureParts = function (closure) {
    return ['read', 'write'].map(function (way) {
      return testbed.counted(testbed.count(closure[way + 's']), way) + ' (' + testbed.counted(testbed.count(closure[way + '_bytes']), 'byte') + ')';
    });
  };

  // Returns the lowest rate of a stall and its slowest operation, as far as it has them: perhaps none ended in it.
  function stallWords(stall) {
    var words = [];
    if (stall.rate !== null) words.push(testbed.counted(testbed.short(stall.rate), 'operation') + ' a second');
    if (stall.worst > 0) words.push('the slowest operation ' + testbed.time(stall.worst));
    return words.join(', ');
  }

  // Returns the sentences on how far the result can be trusted: [{text, alarm}].
  testbed.confidence = function (document, run, phase) {
    var says = [], closure = (phase.account || {}).closure, series = phase.series || {};
    if (document.partial || run.partial || phase.partial) says.push({text: 'The run was interrupted: this is a part of it.', alarm: true});
    (document.runs || []).forEach(function (other) {
      if (!other.error) return;
      says.push({text: (other === run ? 'The run' : 'Another run (' + testbed.clientsOf(other) + testbed.whichRun(other) + ')') + ' failed: ' + other.error.sentence, alarm: true});
    });
    (document.doubts || []).forEach(function (line) { says.push({text: line, alarm: true}); });
    if (phase.wrong > 0) says.push({text: testbed.count(phase.wrong) + ' of ' + testbed.count(phase.verified) + ' checked answers were wrong.', alarm: true});
    var stalls = testbed.stalls(series);
    if (stalls.length > 0) {
      var longest = stalls.slice().sort(function (a, b) { return (b.to - b.from) - (a.to - a.from); })[0];
      says.push({text: (stalls.length === 1 ? 'One stall, from second ' : stalls.length + ' stalls, the longest from second ') + testbed.short(longest.from) + ' to ' +
                       testbed.short(longest.to) + ': ' + stallWords(longest) + '.', alarm: true});
    }
    var steady = phase.steady || {};
    if (steady.rate === true) says.push({text: 'The rate had settled.'});
    if (steady.rate === false) says.push({text: 'The rate had not settled: it still moved in the second half of the phase.', alarm: phase.kind === 'measure'});
    if (closure) {
      var off = Math.abs(closure.reads) + Math.abs(closure.writes) + Math.abs(closure.read_bytes) + Math.abs(closure.write_bytes);
      says.push({text: off === 0 ? 'The account closes: all threads together caused what the device counted, to the request and the byte.'
                                 : 'The account is off by ' + testbed.closureParts(closure).join(' and ') + '.', alarm: off !== 0});
    }
    var grade = phase.grade || (run.accounting || {}).grade;
    if (grade) {
      var reasons = phase.grade_reasons || (run.accounting || {}).grade_reasons || [];
      says.push({text: 'Grade ' + grade + (reasons.length > 0 ? ': ' + reasons.join('; ') + '.' : ': the exact account.')});
    }
    var answered = foundSentences(run, phase);
    (document.remarks || []).forEach(function (line) { if (answered.indexOf(line) < 0) says.push({text: line}); });
    return says;
  };

  // Returns the words on what a part of a finding was judged of, when that stands in for what was published; '' otherwise.
  // Stand-ins count where the finding has no other parts.
  testbed.standInText = function (finding, part) {
    if (!part.stand_in) return '';
    return ' (measured on ' + part.stand_in + ', which stands in' + (finding.on_stand_in ? ')' : ' and is not counted)');
  };

  // Returns the sentences that answer the question above for a phase of a run of the document.
  testbed.answers = function (document, run, phase) {
    return foundSentences(run, phase).concat([meanSentence(document, run, phase), rateSentence(run, phase), readSentence(phase), writeSentence(run, phase)])
        .filter(function (s) { return s !== ''; });
  };

  // Returns the sentence on the best figure of a table, which has a mark; '' without one.
  function bestSentence(table) {
    var best = null, alike = 0;
    table.rows.forEach(function (row) {
      row.figures.forEach(function (figure, i) {
        if (figure.mark === 'best') best = {row: row.name, column: table.columns[i + 1], figure: figure};
        if (figure.mark === '~') ++alike;
      });
    });
    if (!best) return '';
    var value = testbed.short(best.figure.mean) + (best.figure.n > 1 && best.figure.half_width > 0 ? ' ± ' + testbed.short(best.figure.half_width) : '');
    var told = best.figure.n < 2 ? 'one round cannot tell it from the others'
        : alike > 0 ? testbed.counted(testbed.count(alike), 'other figure') + ' cannot be told from it' : 'all others are worse for sure';
    return table.title + ': ' + best.row + ', ' + best.column + ' is the best: ' + value + '; ' + told + '.';
  }

  // Returns the sentences that answer the question of an experiment without findings, such as a sweep: the best figure of
  // each table that marks one; of a single cell its first figures.
  testbed.experimentAnswers = function (experiment) {
    var says = experiment.tables.map(bestSentence).filter(function (s) { return s !== ''; });
    var cells = experiment.cells.filter(function (cell) { return cell; });
    if (says.length > 0 || cells.length !== 1) return says;
    var figures = [];
    experiment.metrics.forEach(function (metric, i) {
      var figure = cells[0].figures[i];
      if (figure) figures.push(metric.name.replace(/_/g, ' ') + ' ' + testbed.short(figure[0]) + (metric.unit ? ' ' + metric.unit : ''));
    });
    return figures.length > 0 ? [cells[0].name + ': ' + figures.slice(0, 4).join(', ') + '.'] : [];
  };

  function quoted(word) { return /^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : "'" + word.replace(/'/g, "'\\''") + "'"; }

  // Returns the command that makes a page of a file.
  testbed.pageCommand = function (file) { return 'testbed report ' + quoted(testbed.line(file)) + ' --html run.html'; };

  // Returns the commands that repeat the runs of a document, each on a line. Of a cell that shared its database the
  // first one loads that.
  testbed.commandLines = function (document) {
    var load = document.load_command || [], all = load.length > 0 ? [load, document.command || []] : [document.command || []];
    return all.map(function (command) {
      var words = command.map(function (word) { return testbed.line(word); });
      if (words.length === 0 || !/(^|\/)testbed$/.test(words[0])) words.unshift('testbed');
      return words.map(quoted).join(' ');
    });
  };
})(testbed);
