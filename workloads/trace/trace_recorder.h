// Records the operations of a phase into a trace. It stands between a workload and the engine's
// sessions, so it records every workload; the runner says where an operation begins and ends.
//
//   TraceRecorder recorder("run.trace", engine, workload.name(), workload.ops());
//   PhaseOptions options;
//   options.recorder = &recorder;
//   RunPhase(recorder.engine(), workload, options);
//   recorder.Finish();
//
// Not recorded: point reads that are in flight together (Session::NewReadQueue), and the contents
// of values.
#ifndef TESTBED_WORKLOADS_TRACE_TRACE_RECORDER_H_
#define TESTBED_WORKLOADS_TRACE_TRACE_RECORDER_H_

#include <memory>
#include <string>
#include <vector>

#include "device/account/operations.h"
#include "engines/engine.h"
#include "workloads/trace/trace_client.h"
#include "workloads/trace/trace_writer.h"

namespace testbed {

class TraceRecorder {
 public:
  // Creates the file of the trace, or none when `path` is empty. `engine` must outlive the object.
  // Throws Error as TraceWriter does.
  TraceRecorder(const std::string& path, Engine& engine, std::string workload,
                const std::vector<OpKind>& kinds);
  ~TraceRecorder();

  // Returns the engine for the workload. It passes all calls to `engine`, and records the names of
  // the tables that are opened.
  Engine& engine();
  // Makes the clients, before the sessions are wrapped.
  void MakeClients(int clients);
  TraceClient& client(int i) { return *clients_[static_cast<size_t>(i)]; }
  // Returns a session that records its calls for client `i`, and passes them on.
  std::unique_ptr<Session> Wrap(std::unique_ptr<Session> session, int i);
  // Says that the phase was stopped before its end. Finish then leaves no file, as nobody could
  // tell it from the trace of a whole phase, and a trace of that name stays.
  void GiveUp() { gave_up_ = true; }
  // Completes the file. Call it when all sessions are closed. A recording without operations, as of
  // a phase that was stopped before it began, leaves no file either. Throws Error (kRun).
  void Finish();

 private:
  class NotingEngine;
  TraceWriter writer_;
  TraceFacts facts_;
  std::unique_ptr<NotingEngine> engine_;
  std::vector<std::unique_ptr<TraceClient>> clients_;
  bool gave_up_ = false;
};

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_TRACE_TRACE_RECORDER_H_
