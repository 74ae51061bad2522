#include "tools/experiment/verdict/terms.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

namespace testbed {
namespace {

std::string Trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \n\t"), last = text.find_last_not_of(" \n\t");
  return first == text.npos ? "" : std::string(text.substr(first, last - first + 1));
}

// Returns the first position of `word`, at `from` or later, that is outside of all parentheses;
// npos when there is none.
size_t FindOutside(const std::string& text, std::string_view word, size_t from = 0) {
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')') --depth;
    if (depth == 0 && i >= from && text.compare(i, word.size(), word) == 0) return i;
  }
  return std::string::npos;
}

std::vector<std::string> SplitOutside(const std::string& text, std::string_view word) {
  std::vector<std::string> parts;
  size_t at = 0;
  for (size_t end; (end = FindOutside(text, word, at)) != std::string::npos;) {
    parts.push_back(Trim(std::string_view(text).substr(at, end - at)));
    at = end + word.size();
  }
  parts.push_back(Trim(std::string_view(text).substr(at)));
  return parts;
}

// Returns the arguments of a call "f(a, b)" of this function; nothing when the text is not such a
// call.
std::optional<std::vector<std::string>> ArgumentsOf(const std::string& text,
                                                    const std::string& function) {
  if (!text.starts_with(function + "(") || text.back() != ')') return std::nullopt;
  const std::string inner = text.substr(function.size() + 1, text.size() - function.size() - 2);
  int depth = 0;
  for (char c : inner) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (depth < 0) return std::nullopt;  // not a call: "f(a) + g(b)"
  }
  return SplitOutside(inner, ",");
}

std::string WithoutParentheses(std::string text) {
  while (text.starts_with("(")) {
    const auto inner = ArgumentsOf(fmt::format("x{}", text), "x");
    if (!inner || inner->size() != 1) break;
    text = Trim(inner->front());
  }
  return text;
}

// Returns the arguments of "max(a, b)" or "0.9 * max(a, b)", each with the factor before it;
// nothing when the text has another form.
std::optional<std::vector<std::string>> Extremes(const std::string& text,
                                                 const std::string& function) {
  const std::string side = WithoutParentheses(text);
  std::string factor, rest = side;
  const size_t star = FindOutside(side, "*");
  if (star != std::string::npos) {
    const std::string number = Trim(std::string_view(side).substr(0, star));
    const bool is_number = !number.empty() && std::all_of(number.begin(), number.end(), [](char c) {
      return std::isdigit(static_cast<unsigned char>(c)) || c == '.';
    });
    if (!is_number) return std::nullopt;
    factor = fmt::format("{} * ", number);
    rest = Trim(std::string_view(side).substr(star + 1));
  }
  std::optional<std::vector<std::string>> arguments = ArgumentsOf(rest, function);
  if (!arguments || arguments->size() < 2) return std::nullopt;
  for (std::string& argument : *arguments) argument = fmt::format("{}({})", factor, argument);
  return arguments;
}

Term Joined(Term::Kind kind, const std::vector<std::string>& texts) {
  if (texts.size() == 1) return TermsOf(texts[0]);
  Term term{kind, "", {}};
  for (const std::string& text : texts) term.parts.push_back(TermsOf(text));
  return term;
}

// Returns the terms of the comparison `larger` > `smaller`, or >= as `sign` says; nothing when
// neither side is a max or min.
std::optional<Term> Compared(const std::string& larger, const std::string& sign,
                             const std::string& smaller) {
  const auto each = [&](Term::Kind kind, const std::vector<std::string>& sides, bool left) {
    std::vector<std::string> texts;
    for (const std::string& side : sides) {
      texts.push_back(fmt::format("{}{}{}", left ? side : larger, sign, left ? smaller : side));
    }
    return Joined(kind, texts);
  };
  if (const auto all = Extremes(smaller, "max")) return each(Term::kAll, *all, false);
  if (const auto all = Extremes(larger, "min")) return each(Term::kAll, *all, true);
  if (const auto any = Extremes(smaller, "min")) return each(Term::kAny, *any, false);
  if (const auto any = Extremes(larger, "max")) return each(Term::kAny, *any, true);
  return std::nullopt;
}

// Returns the terms of "argmax(a, b, c, 4, 8, 16) == 8": b >= a and b >= c. Returns nothing when
// the sides have another form.
std::optional<Term> Largest(const std::vector<std::string>& sides) {
  const auto arguments = sides.size() == 2 ? ArgumentsOf(sides[0], "argmax") : std::nullopt;
  if (!arguments || arguments->size() < 4 || arguments->size() % 2 != 0) return std::nullopt;
  const size_t n = arguments->size() / 2;
  const auto label =
      std::find(arguments->begin() + static_cast<ptrdiff_t>(n), arguments->end(), sides[1]);
  if (label == arguments->end()) return std::nullopt;
  const auto largest = static_cast<size_t>(label - arguments->begin()) - n;
  std::vector<std::string> texts;
  for (size_t i = 0; i < n; ++i) {
    if (i != largest)
      texts.push_back(fmt::format("{} >= {}", (*arguments)[largest], (*arguments)[i]));
  }
  return Joined(Term::kAll, texts);
}

std::optional<Term> Comparison(const std::string& text) {
  if (FindOutside(text, "!=") != std::string::npos) return std::nullopt;
  if (FindOutside(text, "==") != std::string::npos) return Largest(SplitOutside(text, "=="));
  for (const std::string sign : {">=", "<=", ">", "<"}) {
    const std::vector<std::string> sides = SplitOutside(text, sign);
    if (sides.size() == 1) continue;
    if (sides.size() != 2) return std::nullopt;
    if (sign[0] == '>') return Compared(sides[0], sign, sides[1]);
    return Compared(sides[1], sign == "<" ? ">" : ">=", sides[0]);
  }
  return std::nullopt;
}

// Returns how far the term's share of draws is beyond the share that makes it sure. The number is
// negative when the term is not sure.
double Margin(const DecisiveTerm& term, bool truth) {
  return truth ? term.share - term.asked : term.asked - term.share;
}

// Returns the term that decides whether `term` is true (`truth`) or false for sure at this level.
// *certainty points to the certainty of the first kOne in the term. The function moves it past the
// term.
DecisiveTerm DecisiveAt(const Term& term, bool truth, double level, const Certainty** certainty) {
  if (term.kind == Term::kOne) {
    const Certainty& one = *(*certainty)++;
    if (truth) return {term.text, std::min(one.common, one.by_cell), level};
    return {term.text, std::max(one.common, one.by_cell), 1 - level};
  }
  const bool every = (term.kind == Term::kAll) == truth;  // all parts must be sure, not just one
  const double part_level =
      every ? level : 1 - (1 - level) / static_cast<double>(term.parts.size());
  std::vector<DecisiveTerm> parts;
  for (const Term& part : term.parts) {
    parts.push_back(DecisiveAt(part, truth, part_level, certainty));
  }
  const auto less_sure = [&](const DecisiveTerm& a, const DecisiveTerm& b) {
    return Margin(a, truth) < Margin(b, truth);
  };
  return every ? *std::min_element(parts.begin(), parts.end(), less_sure)
               : *std::max_element(parts.begin(), parts.end(), less_sure);
}

}  // namespace

DecisiveTerm Decisive(const Term& term, bool truth, const std::vector<Certainty>& certainties,
                      double sure) {
  const Certainty* first = certainties.data();
  return DecisiveAt(term, truth, sure, &first);
}

bool TrueForSure(const Term& term, const std::vector<Certainty>& certainties, double sure) {
  return Margin(Decisive(term, true, certainties, sure), true) >= 0;
}

bool FalseForSure(const Term& term, const std::vector<Certainty>& certainties, double sure) {
  return Margin(Decisive(term, false, certainties, sure), false) >= 0;
}

std::vector<std::string> SidesOf(const std::string& text) {
  if (FindOutside(text, "?") != std::string::npos) return {};
  for (const std::string_view sign : {">=", "<=", "==", "!=", ">", "<"}) {
    std::vector<std::string> sides = SplitOutside(text, sign);
    if (sides.size() == 2) return sides;
  }
  return {};
}

Term TermsOf(const std::string& expression) {
  const std::string text = WithoutParentheses(Trim(expression));
  const Term one{Term::kOne, text, {}};
  if (FindOutside(text, "?") != std::string::npos) return one;
  for (const auto& [word, kind] : {std::pair{"||", Term::kAny}, std::pair{"&&", Term::kAll}}) {
    const std::vector<std::string> parts = SplitOutside(text, word);
    if (parts.size() > 1) return Joined(kind, parts);
  }
  if (const auto within = ArgumentsOf(text, "within"); within && within->size() == 3) {
    const auto& [a, b, share] = std::tie((*within)[0], (*within)[1], (*within)[2]);
    return Joined(Term::kAll, {fmt::format("({}) >= ({}) - ({}) * abs({})", a, b, share, b),
                               fmt::format("({}) <= ({}) + ({}) * abs({})", a, b, share, b)});
  }
  return Comparison(text).value_or(one);
}

}  // namespace testbed
