#include "tools/run/tasks/task_result.h"

#include <cstddef>
#include <optional>
#include <utility>

#include "device/error.h"

namespace testbed {
namespace {

using nlohmann::json;

json HistogramJson(const HistogramCounts& h) {
  return {{"buckets", h.Buckets()}, {"sum", h.sum_ns()}, {"max", h.max_ns()}};
}

HistogramCounts HistogramFrom(const json& j) {
  HistogramCounts h;
  h.AddBuckets(j.at("buckets").get<std::vector<std::pair<uint64_t, uint64_t>>>(),
               j.at("sum").get<double>(), j.at("max").get<uint64_t>());
  return h;
}

json ShareJson(const std::optional<double>& share) { return share ? json(*share) : json(); }

std::optional<double> ShareFrom(const json& j) {
  return j.is_null() ? std::nullopt : std::optional(j.get<double>());
}

json OpsJson(const PhaseResult& result) {
  json ops = json::array();
  for (const PhaseResult::Op& op : result.ops) {
    ops.push_back({{"count", op.count},
                   {"latency", HistogramJson(op.latency)},
                   {"intended", HistogramJson(op.intended)},
                   {"undone", HistogramJson(op.undone)},
                   {"unanswered", op.unanswered},
                   {"longest_unanswered_ns", op.longest_unanswered_ns}});
  }
  return ops;
}

json AddressesJson(const PhaseResult& result) {
  json addresses = json::array();
  for (const PhaseResult::Address& address : result.addresses) {
    addresses.push_back({{"name", address.name},
                         {"threads", address.threads},
                         {"count", address.count},
                         {"unanswered", address.unanswered},
                         {"latency", HistogramJson(address.latency)}});
  }
  return addresses;
}

// Returns the figures of the clients in each second, without those of their host.
json SecondsJson(const PhaseResult& result) {
  json seconds = json::array();
  for (const Interval& i : result.series) {
    seconds.push_back({{"end_seconds", i.end_seconds},
                       {"operations", i.operations},
                       {"max_ns", i.max_ns},
                       {"counts", i.counts},
                       {"max_latency_ns", i.max_latency_ns},
                       {"latency_ns", i.latency_ns},
                       {"sum_ns", i.sum_ns}});
  }
  return seconds;
}

json TotalsJson(const Client::Totals& totals) {
  return {{"rows_read", totals.rows_read},      {"rows_written", totals.rows_written},
          {"not_found", totals.not_found},      {"rows_inserted", totals.rows_inserted},
          {"rows_erased", totals.rows_erased},  {"user_bytes_written", totals.user_bytes_written},
          {"rows_unknown", totals.rows_unknown}};
}

Client::Totals TotalsFrom(const json& j) {
  Client::Totals totals;
  totals.rows_read = j.at("rows_read").get<uint64_t>();
  totals.rows_written = j.at("rows_written").get<uint64_t>();
  totals.not_found = j.at("not_found").get<uint64_t>();
  totals.rows_inserted = j.at("rows_inserted").get<uint64_t>();
  totals.rows_erased = j.at("rows_erased").get<uint64_t>();
  totals.user_bytes_written = j.at("user_bytes_written").get<uint64_t>();
  totals.rows_unknown = j.at("rows_unknown").get<bool>();
  return totals;
}

// Returns the counts by the names of the kinds of operations, since a kind may have another number
// in another process.
json CausesOfTask(const PhaseAccount& account) {
  json causes = json::array();
  for (const OpKind op : DefinedOps()) {
    const LedgerCounts::Op& counts = account.ledger.ops[op.id];
    if (counts.operations == 0 && counts.wire == WireCounts{}) continue;
    causes.push_back({{"name", OpName(op)},
                      {"foreground", OpGround(op) == Ground::kForeground},
                      {"operations", counts.operations},
                      {"round_trips", counts.wire.round_trips},
                      {"sent_bytes", counts.wire.sent_bytes},
                      {"received_bytes", counts.wire.received_bytes}});
  }
  return causes;
}

json AccountOfTask(const PhaseAccount& account) {
  return {{"causes", CausesOfTask(account)},
          {"cpu_user_seconds", account.cpu_user_seconds},
          {"cpu_system_seconds", account.cpu_system_seconds},
          {"process_read_bytes", account.process_read_bytes},
          {"process_write_bytes", account.process_write_bytes},
          {"major_faults", account.major_faults},
          {"context_switches", account.context_switches}};
}

PhaseAccount AccountFrom(const json& j) {
  PhaseAccount account;
  for (const json& cause : j.at("causes")) {
    const OpKind op =
        DefineOp(cause.at("name").get<std::string>(),
                 cause.at("foreground").get<bool>() ? Ground::kForeground : Ground::kBackground);
    LedgerCounts::Op& counts = account.ledger.ops[op.id];
    counts.operations = cause.at("operations").get<uint64_t>();
    counts.wire.round_trips = cause.at("round_trips").get<uint64_t>();
    counts.wire.sent_bytes = cause.at("sent_bytes").get<uint64_t>();
    counts.wire.received_bytes = cause.at("received_bytes").get<uint64_t>();
  }
  account.cpu_user_seconds = j.at("cpu_user_seconds").get<double>();
  account.cpu_system_seconds = j.at("cpu_system_seconds").get<double>();
  account.process_read_bytes = j.at("process_read_bytes").get<uint64_t>();
  account.process_write_bytes = j.at("process_write_bytes").get<uint64_t>();
  account.major_faults = j.at("major_faults").get<uint64_t>();
  account.context_switches = j.at("context_switches").get<uint64_t>();
  return account;
}

void TakeOps(const json& ops, const std::vector<OpKind>& kinds, PhaseResult* result) {
  for (size_t i = 0; i < kinds.size(); ++i) {
    const json& j = ops.at(i);
    PhaseResult::Op op{
        .op = kinds[i], .count = j.at("count").get<uint64_t>(), .latency = {}, .intended = {}};
    op.latency = HistogramFrom(j.at("latency"));
    op.intended = HistogramFrom(j.at("intended"));
    op.undone = HistogramFrom(j.at("undone"));
    op.unanswered = j.at("unanswered").get<uint64_t>();
    op.longest_unanswered_ns = j.at("longest_unanswered_ns").get<uint64_t>();
    result->ops.push_back(std::move(op));
  }
}

void TakeAddresses(const json& addresses, PhaseResult* result) {
  for (const json& j : addresses) {
    PhaseResult::Address& address = result->addresses.emplace_back();
    address.name = j.at("name").get<std::string>();
    address.threads = j.at("threads").get<int>();
    address.count = j.at("count").get<uint64_t>();
    address.unanswered = j.at("unanswered").get<uint64_t>();
    address.latency = HistogramFrom(j.at("latency"));
  }
}

void TakeSeconds(const json& seconds, PhaseResult* result) {
  for (const json& j : seconds) {
    Interval i{};
    i.end_seconds = j.at("end_seconds").get<double>();
    i.operations = j.at("operations").get<uint64_t>();
    i.max_ns = j.at("max_ns").get<uint64_t>();
    i.counts = j.at("counts").get<std::vector<uint64_t>>();
    i.max_latency_ns = j.at("max_latency_ns").get<std::vector<uint64_t>>();
    i.latency_ns = j.at("latency_ns").get<std::vector<std::pair<uint64_t, uint64_t>>>();
    i.sum_ns = j.at("sum_ns").get<double>();
    result->series.push_back(std::move(i));
  }
}

PhaseResult ResultFrom(const json& j, const std::vector<OpKind>& kinds) {
  PhaseResult result;
  result.seconds = j.at("seconds").get<double>();
  result.began_ns = j.at("began_ns").get<int64_t>();
  TakeOps(j.at("ops"), kinds, &result);
  TakeAddresses(j.at("addresses"), &result);
  result.totals = TotalsFrom(j.at("totals"));
  result.verified = j.at("verified").get<uint64_t>();
  result.wrong = j.at("wrong").get<uint64_t>();
  result.first_wrong = j.at("first_wrong").get<std::string>();
  result.partial = j.at("partial").get<bool>();
  result.ended_because = j.at("ended_because").get<std::string>();
  result.lateness = HistogramFrom(j.at("lateness"));
  result.undone = HistogramFrom(j.at("undone"));
  result.backlog_seconds = j.at("backlog_seconds").get<double>();
  TakeSeconds(j.at("series"), &result);
  result.thread_operations = j.at("thread_operations").get<std::vector<uint64_t>>();
  result.extra_operations = j.at("extra_operations").get<uint64_t>();
  result.thread_seconds = j.at("thread_seconds").get<std::vector<double>>();
  result.preparing_seconds = j.at("preparing_seconds").get<double>();
  return result;
}

}  // namespace

json TaskResultJson(const PhaseRecord& phase) {
  const PhaseResult& result = phase.work->result;
  return {{"threads", phase.work->threads},
          {"foreign_cpu_share", ShareJson(phase.foreign_cpu_share)},
          {"own_cpu_share", ShareJson(phase.own_cpu_share)},
          {"steal_share", ShareJson(phase.steal_share)},
          {"account", AccountOfTask(phase.account)},
          {"seconds", result.seconds},
          {"began_ns", result.began_ns},
          {"ops", OpsJson(result)},
          {"addresses", AddressesJson(result)},
          {"totals", TotalsJson(result.totals)},
          {"verified", result.verified},
          {"wrong", result.wrong},
          {"first_wrong", result.first_wrong},
          {"partial", result.partial},
          {"ended_because", result.ended_because},
          {"lateness", HistogramJson(result.lateness)},
          {"undone", HistogramJson(result.undone)},
          {"backlog_seconds", result.backlog_seconds},
          {"series", SecondsJson(result)},
          {"thread_operations", result.thread_operations},
          {"extra_operations", result.extra_operations},
          {"thread_seconds", result.thread_seconds},
          {"preparing_seconds", result.preparing_seconds}};
}

PhaseRecord TaskResultFrom(const json& told, const std::vector<OpKind>& ops) {
  try {
    PhaseRecord phase;
    phase.foreign_cpu_share = ShareFrom(told.at("foreign_cpu_share"));
    phase.own_cpu_share = ShareFrom(told.at("own_cpu_share"));
    phase.steal_share = ShareFrom(told.at("steal_share"));
    phase.account = AccountFrom(told.at("account"));
    PhaseRecord::Work& work = phase.work.emplace();
    work.threads = told.at("threads").get<int>();
    work.ops = ops;
    work.result = ResultFrom(told, ops);
    phase.seconds = work.result.seconds;
    return phase;
  } catch (const json::exception&) {
    throw Error(Error::kRun, "what a task told of its phase is damaged");
  }
}

}  // namespace testbed
