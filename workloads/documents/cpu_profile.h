// A CpuProfile says which functions of this process used the processor, by perf.
//
//   CpuProfile profile;                    // starts `perf record` on this process
//   ...
//   for (const CpuProfile::Function& f : profile.Stop()) ...   // the most samples first
//
// perf takes a sample of each thread for each millisecond of its processor time. Where perf is not
// installed or not permitted, Stop returns no functions, and why() says why. Not thread-safe.
#ifndef TESTBED_WORKLOADS_DOCUMENTS_CPU_PROFILE_H_
#define TESTBED_WORKLOADS_DOCUMENTS_CPU_PROFILE_H_

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

namespace testbed {

class CpuProfile {
 public:
  struct Function {
    // `name` is mangled, or an address if the function has no name. `program` is the program or
    // library that the function belongs to.
    std::string name, program;
    double share;  // share of all samples, 0 to 1
  };

  CpuProfile();
  ~CpuProfile();
  CpuProfile(const CpuProfile&) = delete;
  CpuProfile& operator=(const CpuProfile&) = delete;

  // Ends the profile and returns its functions, those with the most samples first.
  std::vector<Function> Stop();
  const std::string& why() const { return why_; }  // why there are no functions

 private:
  void End();

  pid_t perf_ = -1;
  std::string file_;  // temporary file with perf's samples
  std::string why_;
};

// Parses the output of `perf report -F overhead,dso,symbol`, which has lines such as
// "    15.83%  libc.so.6  [.] free". Other lines are skipped.
std::vector<CpuProfile::Function> ParsePerfReport(std::string_view report);
// Returns whether a function is malloc, free, operator new or delete, or a part of their
// implementation in glibc.
bool IsAllocation(std::string_view function);

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_DOCUMENTS_CPU_PROFILE_H_
