#include "workloads/rows/settle.h"

#include <memory>
#include <string>
#include <vector>

namespace testbed {
namespace {

// The run itself settles the engine (WorkloadInfo::only_settles), so no client does anything.
class SettleOnly : public Workload {
 public:
  const std::string& name() const override { return name_; }
  const std::vector<OpKind>& ops() const override { return ops_; }
  uint64_t operations() const override { return 1; }
  bool writes() const override { return false; }
  void OpenTables(Engine&) override {}
  std::unique_ptr<Client> NewClient(Session&, int, int) override {
    return std::make_unique<IdleClient>();
  }

 private:
  class IdleClient : public Client {
   public:
    size_t Generate(size_t) override { return 0; }
    void Execute(size_t) override {}
    bool Verify(size_t) override { return true; }
  };
  const std::string name_ = "settle";
  const std::vector<OpKind> ops_;
};

std::unique_ptr<Workload> MakeSettle(std::shared_ptr<const Dataset>, const WorkloadOptions&) {
  return std::make_unique<SettleOnly>();
}

}  // namespace

WorkloadInfo SettleInfo() {
  return {.name = "settle",
          .summary = "no operations: the engine flushes, compacts and takes a checkpoint",
          .loads = false,
          .make = MakeSettle,
          .loader = "",
          .only_settles = true};
}

}  // namespace testbed
