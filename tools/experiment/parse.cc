// Reads an experiment from TOML. An unknown name is an error, so that a typing mistake does not
// make the experiment silently do something else.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <functional>
#include <set>

#include "device/error.h"
#include "tools/experiment/experiment.h"
#include "tools/experiment/expression.h"
#include "tools/experiment/plan/cell_engine.h"
#include "tools/experiment/toml/toml_reader.h"
#include "tools/experiment/verdict/again.h"
#include "tools/option_check.h"

namespace testbed {
namespace {

class Parser : TomlReader {
 public:
  Parser(const std::string& text, const std::string& origin) : TomlReader(text, origin) {
    e_.text = text;
  }

  Experiment Parse(bool is_new);

 private:
  OptionMap Options(const toml::node* node, bool of_engine = false) const;
  void CheckOption(const toml::node& at, const std::string& name, const std::string& value) const;
  Where ParseWhere(const toml::table& table) const;
  // Returns the file and, when the part was noted by Note, its line.
  std::string PlaceOf(const std::string& part) const;
  [[noreturn]] void RefusePart(const std::string& part, const std::string& why) const {
    throw Error(Error::kUsage, fmt::format("{}: {} {}", PlaceOf(part), part, why));
  }
  void Note(const std::string& part, const toml::node& at) {
    lines_.emplace(part, at.source().begin.line);
  }
  // Notes a part that verdicts call by its name, which another part must not have.
  void NoteOnce(const std::string& part, const toml::node& at) {
    if (is_new_ && lines_.contains(part)) {
      Refuse(at, part + " is there twice; name one of them otherwise");
    }
    Note(part, at);
  }
  // A [[skip]] has no name, so an error calls it by its place in the file.
  static std::string SkipName(size_t place) { return fmt::format("skip {}", place + 1); }
  template <typename F>
  void ForEachTable(const char* key, F use);

  void ParseEngineOptions();
  void ParseMetrics();
  void NameSeries(const std::string& letters, const toml::node& at);
  void ParseSeries();
  void ParseAxis(const toml::table& table);
  void ParseScale(const std::string& name, const toml::table& table);
  void ParseRelativeTo(const toml::node& node, TableSpec* spec) const;
  void ParseTable(const toml::table& table);
  FindingPart ParsePart(const toml::table& table);
  void ParseFinding(const toml::table& table);
  void ParseAgain(const toml::table& table);
  void CheckExpressions(const std::function<void(const Where&, const std::string&)>& check) const;
  void CheckAxis(const std::string& axis, const std::string& in) const;
  void CheckWhere(const Where& where, const std::string& in) const;
  void CheckTable(const TableSpec& table) const;
  void CheckAgain() const;
  void CheckEngines() const;
  void CheckReferences() const;

  bool is_new_ = true;  // the text is to be run; false: it is the text of kept results
  Experiment e_;
  std::map<std::string, toml::source_index> lines_;  // lines of tables, findings, scales and so on
};

std::string Parser::PlaceOf(const std::string& part) const {
  const auto line = lines_.find(part);
  return line == lines_.end() ? origin_ : fmt::format("{}:{}", origin_, line->second);
}

// Returns the options of a table; that of an engine (`of_engine`) alone may have a table "load".
OptionMap Parser::Options(const toml::node* node, bool of_engine) const {
  OptionMap options;
  if (node == nullptr) return options;
  for (const auto& [key, value] : AsTable(*node, "options")) {
    const std::string name(key.str());
    if (name == "load" && !of_engine && is_new_) Refuse(value, "load belongs to [engine.NAME]");
    if (!value.is_table()) {
      options[name] = AsText(value);
      CheckOption(value, name, options[name]);
      continue;
    }
    for (const auto& [inner, setting] : *value.as_table()) {
      const std::string both = name + "." + std::string(inner.str());
      options[both] = AsText(setting);
      CheckOption(setting, name == "load" ? std::string(inner.str()) : both, options[both]);
    }
  }
  return options;
}

// Refuses an option that a run does not have or a value that it does not take, by the names that
// the experiment calls them by.
void Parser::CheckOption(const toml::node& at, const std::string& name,
                         const std::string& value) const {
  const bool of_experiment = name == "label" || name == "asked" ||
                             (name == "ram" && value == "auto") ||
                             (name == "scratch" && value == "none");
  if (of_experiment) return;
  // Kept results may be of a build that took these options and did nothing with them.
  if (const std::string why = WhyNoCellHas(name); is_new_ && !why.empty()) {
    Refuse(at, fmt::format("{} is no option of an experiment: {}", name, why));
  }
  try {
    CheckOptionValue(name, value);
  } catch (const Error& error) {
    std::string why = error.what();
    for (size_t dashes; (dashes = why.find("--" + name)) != std::string::npos;) {
      why.erase(dashes, 2);
    }
    Refuse(at, why);
  }
}

Where Parser::ParseWhere(const toml::table& table) const {
  Where where;
  if (const toml::node* node = table.get("where")) {
    for (const auto& [axis, labels] : AsTable(*node, "where")) {
      where[std::string(axis.str())] = AsTexts(labels);
    }
  }
  return where;
}

template <typename F>
void Parser::ForEachTable(const char* key, F use) {
  const toml::node* node = root_.get(key);
  if (node == nullptr) return;
  if (!node->is_array()) Refuse(*node, fmt::format("write each as [[{}]]", key));
  for (const toml::node& item : *node->as_array()) use(AsTable(item, key));
}

void Parser::ParseAxis(const toml::table& table) {
  CheckKeys(table, {"name", "values"});
  Axis axis;
  axis.name = Needed(table, "name");
  if (e_.FindAxis(axis.name) != nullptr) {
    Refuse(table, fmt::format("there are two axes {}; name one of them otherwise", axis.name));
  }
  const toml::node* values = table.get("values");
  if (values == nullptr || !values->is_array()) Refuse(table, "values must be a list");
  for (const toml::node& node : *values->as_array()) {
    AxisValue value;
    if (!node.is_table()) {
      value.label = AsText(node);
      value.options[axis.name] = value.label;
      CheckOption(node, axis.name, value.label);
    } else {
      value.options = Options(&node);
      value.label = Needed(*node.as_table(), "label");
      value.options.erase("label");
      const auto asked = value.options.extract("asked");
      if (!asked.empty() && asked.mapped() != "true") Refuse(node, "asked takes true");
      value.asked = !asked.empty();
    }
    // Labels identify a cell: the second of two cells with equal labels would count as finished.
    if (HasLabel(axis, value.label)) {
      Refuse(node, fmt::format("axis {} has two values with the label {}; give one another label",
                               axis.name, value.label));
    }
    axis.values.push_back(std::move(value));
  }
  if (std::all_of(axis.values.begin(), axis.values.end(), [](const auto& v) { return v.asked; })) {
    Refuse(table, "an axis needs a value that runs unasked");
  }
  e_.axes.push_back(std::move(axis));
}

void Parser::ParseScale(const std::string& name, const toml::table& table) {
  CheckKeys(table, {"options", "engine", "axes", "rounds"});
  Note("scale " + name, table);
  ExperimentScale& scale = e_.scales[name];
  if (const toml::node* rounds = table.get("rounds")) {
    const auto* number = rounds->as_integer();
    if (number == nullptr || number->get() < 1 || number->get() > kMaxRounds) {
      Refuse(*rounds, fmt::format("rounds must be a number from 1 to {}", kMaxRounds));
    }
    scale.rounds = static_cast<int>(number->get());
  }
  scale.options = Options(table.get("options"));
  if (const toml::node* engines = table.get("engine")) {
    for (const auto& [engine, node] : AsTable(*engines, "engine")) {
      scale.engine_options[std::string(engine.str())] = Options(&node);
      Note(fmt::format("scale {}, engine {}", name, engine.str()), node);
    }
  }
  if (const toml::node* axes = table.get("axes")) {
    for (const auto& [axis, labels] : AsTable(*axes, "axes")) {
      scale.labels[std::string(axis.str())] = AsTexts(labels);
    }
  }
}

void Parser::ParseRelativeTo(const toml::node& node, TableSpec* spec) const {
  const toml::table& table = AsTable(node, "relative-to");
  if (table.size() != 1) {
    Refuse(node, "relative-to names one axis and one of its labels, as in { engine = \"btree\" }");
  }
  spec->relative_axis = std::string(table.begin()->first.str());
  spec->relative_label = AsText(table.begin()->second);
}

void Parser::ParseTable(const toml::table& table) {
  CheckKeys(table, {"title", "note", "rows", "columns", "metrics", "best", "where", "relative-to",
                    "published"});
  TableSpec spec;
  spec.title = Needed(table, "title");
  Note("table \"" + spec.title + "\"", table);
  spec.best = Text(table, "best");
  if (!spec.best.empty() && spec.best != "max" && spec.best != "min") {
    Refuse(*table.get("best"), "best must be max or min");
  }
  spec.note = Text(table, "note");
  spec.rows = Texts(table, "rows");
  spec.columns = Text(table, "columns");
  spec.metrics = Texts(table, "metrics");
  spec.where = ParseWhere(table);
  if (const toml::node* node = table.get("relative-to")) ParseRelativeTo(*node, &spec);
  if (spec.rows.empty() || spec.metrics.empty()) Refuse(table, "a table needs rows and metrics");
  if (const toml::node* node = table.get("published")) {
    const toml::table& published = AsTable(*node, "published");
    CheckKeys(published, {"columns", "rows"});
    spec.published_columns = Texts(published, "columns");
    const toml::array* rows = published.get_as<toml::array>("rows");
    if (rows == nullptr) Refuse(published, "published needs rows");
    for (const toml::node& row : *rows) {
      spec.published.push_back(AsTexts(row));
      if (spec.published.back().size() != spec.published_columns.size()) {
        Refuse(row, "a published row has as many cells as there are columns");
      }
    }
  }
  e_.tables.push_back(std::move(spec));
}

FindingPart Parser::ParsePart(const toml::table& table) {
  CheckKeys(table, {"says", "published", "ours", "holds", "false_if", "stand_in", "untestable",
                    "waits_for", "scale", "needs"});
  FindingPart part;
  part.says = Needed(table, "says");
  part.published = Text(table, "published");
  part.ours = Text(table, "ours");
  part.holds = Text(table, "holds");
  part.needs = Text(table, "needs");
  part.false_if = Text(table, "false_if");
  part.stand_in = Text(table, "stand_in");
  part.untestable = Text(table, "untestable");
  part.waits_for = Texts(table, "waits_for");
  part.scales = Texts(table, "scale");
  if (part.holds.empty() && part.untestable.empty() && part.waits_for.empty()) {
    Refuse(table, "a part needs holds, waits_for or untestable");
  }
  return part;
}

void Parser::ParseFinding(const toml::table& table) {
  CheckKeys(table, {"id", "claim", "systems", "part", "waits_for", "untestable", "mechanism"});
  Finding finding;
  finding.id = Needed(table, "id");
  NoteOnce("finding " + finding.id, table);
  finding.claim = Needed(table, "claim");
  finding.systems = Text(table, "systems");
  finding.waits_for = Texts(table, "waits_for");
  finding.untestable = Text(table, "untestable");
  if (const toml::node* node = table.get("part")) {
    if (!node->is_array()) Refuse(*node, "write each as [[finding.part]]");
    for (const toml::node& item : *node->as_array()) {
      finding.parts.push_back(ParsePart(AsTable(item, "part")));
    }
  }
  if (finding.parts.empty() && finding.untestable.empty() && finding.waits_for.empty()) {
    Refuse(table, "a finding needs parts ([[finding.part]]), waits_for or untestable");
  }
  if (const toml::node* node = table.get("mechanism")) {
    if (!node->is_array()) Refuse(*node, "mechanism must be a list");
    for (const toml::node& item : *node->as_array()) {
      const toml::table& mechanism = AsTable(item, "mechanism");
      CheckKeys(mechanism, {"when", "says"});
      finding.mechanisms.push_back({Needed(mechanism, "when"), Needed(mechanism, "says")});
    }
  }
  e_.findings.push_back(std::move(finding));
}

void Parser::ParseAgain(const toml::table& table) {
  CheckKeys(table, {"name", "on", "findings", "instead"});
  Again again{Needed(table, "name"), Needed(table, "on"), Texts(table, "findings"), "", {}};
  NoteOnce("again " + again.name, table);
  const toml::node* node = table.get("instead");
  if (node == nullptr || AsTable(*node, "instead").size() != 1) {
    Refuse(table, "instead names one axis, as in { engine = { innodb = \"mysql\" } }");
  }
  const toml::table& by_axis = *node->as_table();
  again.axis = std::string(by_axis.begin()->first.str());
  for (const auto& [label, other] : AsTable(by_axis.begin()->second, "instead")) {
    again.instead[std::string(label.str())] = AsText(other);
  }
  e_.again.push_back(std::move(again));
}

// Throws Error (kUsage) when the experiment has no such axis; `in` names the part that asks for it.
void Parser::CheckAxis(const std::string& axis, const std::string& in) const {
  if (e_.FindAxis(axis) != nullptr) return;
  RefusePart(in, fmt::format("names the axis {}, which is not there", axis));
}

void Parser::CheckWhere(const Where& where, const std::string& in) const {
  for (const auto& [axis, labels] : where) {
    CheckAxis(axis, in);
    for (const std::string& label : labels) {
      if (HasLabel(*e_.FindAxis(axis), label)) continue;
      RefusePart(in, fmt::format("names {} = {}, which is not there", axis, label));
    }
  }
}

void Parser::CheckTable(const TableSpec& table) const {
  const std::string in = "table \"" + table.title + "\"";
  for (const std::string& axis : table.rows) CheckAxis(axis, in);
  if (!table.columns.empty()) CheckAxis(table.columns, in);
  CheckWhere(table.where, in);
  if (table.relative_label == kPrevious) {
    CheckAxis(table.relative_axis, in);
  } else if (!table.relative_axis.empty()) {
    CheckWhere({{table.relative_axis, {table.relative_label}}}, in);
  }
  // Without that axis, a figure would be the mean of cells that include its own reference.
  if (!table.relative_axis.empty() && table.relative_axis != table.columns &&
      std::find(table.rows.begin(), table.rows.end(), table.relative_axis) == table.rows.end()) {
    RefusePart(in, fmt::format("is relative to a value of the axis {}, which is neither in its "
                               "rows nor its columns; add it to its rows",
                               table.relative_axis));
  }
  for (const std::string& metric : table.metrics) {
    if (e_.FindMetric(metric) != nullptr) continue;
    RefusePart(in, fmt::format("names the metric {}, which is not there", metric));
  }
}

void Parser::CheckAgain() const {
  for (const Again& again : e_.again) {
    const std::string in = "again " + again.name;
    CheckAxis(again.axis, in);
    for (const auto& [label, other] : again.instead) CheckWhere({{again.axis, {label, other}}}, in);
    const std::string id = NotJudgedAgain(e_, again);
    if (!id.empty()) {
      RefusePart(
          in, fmt::format("names the finding {}, of which no part selects one of its labels", id));
    }
    for (const Finding& finding : FindingsAgain(e_, again, nullptr)) {
      if (!is_new_ || !lines_.contains("finding " + finding.id)) continue;
      RefusePart(in, fmt::format("makes the finding {}, which is there already", finding.id));
    }
  }
}

// Throws Error (kUsage) for options of an engine that no cell can have: that neither this build nor
// the experiment knows.
void Parser::CheckEngines() const {
  const std::set<std::string> known = KnownEngines(e_);
  const auto check = [&](const std::string& engine, const std::string& in) {
    if (known.contains(engine)) return;
    throw Error(Error::kUsage, fmt::format("{}: there is no engine {}; there are {}", PlaceOf(in),
                                           engine, fmt::join(known, ", ")));
  };
  for (const auto& [engine, options] : e_.engine_options) check(engine, "engine " + engine);
  for (const auto& [name, scale] : e_.scales) {
    for (const auto& [engine, options] : scale.engine_options) {
      check(engine, fmt::format("scale {}, engine {}", name, engine));
    }
  }
}

// Throws Error (kUsage) when a part of the experiment names an axis, label, metric or scale that
// does not exist.
void Parser::CheckReferences() const {
  for (const TableSpec& table : e_.tables) CheckTable(table);
  const auto check_scales = [this](const std::vector<std::string>& scales, const std::string& in) {
    for (const std::string& scale : scales) {
      if (e_.scales.contains(scale)) continue;
      RefusePart(in, fmt::format("names the scale {}, which is not there", scale));
    }
  };
  for (size_t i = 0; i < e_.skips.size(); ++i) {
    CheckWhere(e_.skips[i].where, SkipName(i));
    check_scales(e_.skips[i].scales, SkipName(i));
  }
  for (const Finding& finding : e_.findings) {
    for (const FindingPart& part : finding.parts) {
      check_scales(part.scales, "finding " + finding.id);
    }
  }
  for (const auto& [name, scale] : e_.scales) CheckWhere(scale.labels, "scale " + name);
  CheckAgain();
  CheckExpressions([&](const Where& where, const std::string& in) {
    Where labels = where;
    const auto mean = labels.extract("mean");
    CheckWhere(labels, in);
    if (mean.empty()) return;
    for (const std::string& axis : mean.mapped()) CheckAxis(axis, in);
  });
}

// Throws Error (kUsage) when an expression of a finding cannot be evaluated. Calls `check` with
// each selection in these expressions.
void Parser::CheckExpressions(
    const std::function<void(const Where&, const std::string&)>& check) const {
  const auto is_metric = [&](const std::string& name) { return e_.FindMetric(name) != nullptr; };
  for (const Finding& finding : e_.findings) {
    const auto check_expression = [&](const std::string& expression) {
      if (expression.empty()) return;
      const std::string in =
          fmt::format("{}: finding {}", PlaceOf("finding " + finding.id), finding.id);
      try {
        const Statement statement(expression, is_metric,
                                  [](const Selection&) { return Statement::Groups{{0}}; });
        statement.Evaluate(std::vector<double>(statement.figures().size(), 1));
        for (const Selection& selection : statement.selections()) {
          check(selection.where, "finding " + finding.id);
        }
      } catch (const Error& error) {
        const std::string why = error.what();
        throw Error(Error::kUsage, why.starts_with(origin_) ? why : in + ": " + why);
      }
    };
    for (const FindingPart& part : finding.parts) {
      check_expression(part.holds);
      check_expression(part.needs);
      for (const std::string& expression : ExpressionsIn(part.ours)) check_expression(expression);
    }
    for (const Mechanism& mechanism : finding.mechanisms) {
      check_expression(mechanism.when);
      for (const std::string& shown : ExpressionsIn(mechanism.says)) check_expression(shown);
    }
  }
}

void Parser::ParseEngineOptions() {
  if (const toml::node* engines = root_.get("engine")) {
    for (const auto& [name, node] : AsTable(*engines, "engine")) {
      OptionMap& options = e_.engine_options[std::string(name.str())];
      OptionMap& load = e_.engine_load_options[std::string(name.str())];
      Note(fmt::format("engine {}", name.str()), node);
      const std::string prefix = "load.";
      for (const auto& [option, value] : Options(&node, true)) {
        const bool of_load = option.starts_with(prefix);
        (of_load ? load : options)[of_load ? option.substr(prefix.size()) : option] = value;
      }
    }
  }
}

void Parser::ParseMetrics() {
  if (const toml::node* metrics = root_.get("metrics")) {
    for (const auto& [name, node] : AsTable(*metrics, "metrics")) {
      ExperimentMetric metric;
      metric.name = name.str();
      if (const toml::table* table = node.as_table()) {
        CheckKeys(*table, {"value", "unit", "about", "grain"});
        metric = {metric.name, Needed(*table, "value"), Text(*table, "unit"), Text(*table, "about"),
                  Text(*table, "grain")};
      } else {
        metric.expression = AsText(node);
      }
      try {  // otherwise the first result would find the error
        (void)EvaluateFigures(metric.expression, {});
        if (!metric.grain.empty()) (void)EvaluateFigures(metric.grain, {});
      } catch (const Error& error) {
        Refuse(node, fmt::format("metric {}: {}", metric.name, error.what()));
      }
      e_.metrics.push_back(std::move(metric));
    }
  }
}

// Names the numbers at the ends of metrics that have these letters before them.
void Parser::NameSeries(const std::string& letters, const toml::node& at) {
  constexpr size_t kMostBytes = 40;
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  const std::string name = at.is_string() ? AsText(at) : "";
  if (name.empty() || name.size() > kMostBytes ||
      std::any_of(name.begin(), name.end(), is_control)) {
    Refuse(at, fmt::format("series takes a name of at most {} bytes, such as \"round\", or a table "
                           "of names by the letters before a number, as in {{ qr = \"rate\" }}",
                           kMostBytes));
  }
  if (!std::all_of(letters.begin(), letters.end(), is_letter)) {
    Refuse(at, fmt::format("series has the key {}, and its keys are letters alone", letters));
  }
  e_.series[letters] = name;
  if (!is_new_) return;
  const std::vector<MetricSeries> all = MetricSeriesOf(e_);
  if (std::none_of(all.begin(), all.end(),
                   [&](const MetricSeries& one) { return one.letters == letters; })) {
    Refuse(at, fmt::format("series names the number {}, but no three metrics of one stem and unit "
                           "end in _{} and a number",
                           name, letters));
  }
}

void Parser::ParseSeries() {
  const toml::node* node = root_.get("series");
  if (node == nullptr) return;
  if (!node->is_table()) {
    NameSeries("", *node);
    return;
  }
  for (const auto& [letters, name] : *node->as_table()) {
    NameSeries(std::string(letters.str()), name);
  }
}

Experiment Parser::Parse(bool is_new) {
  is_new_ = is_new;
  CheckKeys(root_,
            {"name", "title", "about", "source", "in-order", "copy-loads", "series", "options",
             "load", "engine", "scale", "axis", "skip", "metrics", "table", "finding", "again"});
  e_.name = Needed(root_, "name");
  e_.title = Needed(root_, "title");
  e_.about = Text(root_, "about");
  e_.source = Text(root_, "source");
  const auto flag = [&](const char* name, bool* value) {
    const toml::node* node = root_.get(name);
    if (node == nullptr) return;
    if (!node->is_boolean()) Refuse(*node, std::string(name) + " must be true or false");
    *value = node->as_boolean()->get();
  };
  flag("in-order", &e_.in_order);
  flag("copy-loads", &e_.copy_loads);
  e_.options = Options(root_.get("options"));
  e_.load_options = Options(root_.get("load"));
  ParseEngineOptions();
  ForEachTable("axis", [&](const toml::table& t) { ParseAxis(t); });
  const bool by_value = std::any_of(e_.axes.begin(), e_.axes.end(), [](const Axis& axis) {
    return std::all_of(axis.values.begin(), axis.values.end(),
                       [](const AxisValue& value) { return value.options.contains("engine"); });
  });
  if (e_.FindAxis("engine") == nullptr && !e_.options.contains("engine") && !by_value) {
    throw Error(Error::kUsage, origin_ + ": neither an axis nor an option names the engine");
  }
  if (const toml::node* scales = root_.get("scale")) {
    for (const auto& [name, node] : AsTable(*scales, "scale")) {
      ParseScale(std::string(name.str()), AsTable(node, "scale"));
    }
  }
  ForEachTable("skip", [&](const toml::table& t) {
    CheckKeys(t, {"where", "scale", "why"});
    Note(SkipName(e_.skips.size()), t);
    e_.skips.push_back({ParseWhere(t), Texts(t, "scale"), Needed(t, "why")});
  });
  ParseMetrics();
  ParseSeries();
  ForEachTable("table", [&](const toml::table& t) { ParseTable(t); });
  ForEachTable("finding", [&](const toml::table& t) { ParseFinding(t); });
  ForEachTable("again", [&](const toml::table& t) { ParseAgain(t); });
  if (is_new) CheckEngines();
  CheckReferences();
  return std::move(e_);
}

}  // namespace

Experiment ParseExperiment(const std::string& text, const std::string& origin, bool is_new) {
  return Parser(text, origin).Parse(is_new);
}

}  // namespace testbed
