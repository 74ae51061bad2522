#include "device/account/kernel_types.h"

#include <bpf/btf.h>
#include <linux/btf.h>

#include <algorithm>

namespace testbed {

std::unique_ptr<KernelTypes> KernelTypes::Load(std::string* why) {
  btf* types = btf__load_vmlinux_btf();
  if (types == nullptr) {
    *why =
        "this kernel carries no type information (/sys/kernel/btf/vmlinux), so its block requests "
        "cannot be told apart: use one built with CONFIG_DEBUG_INFO_BTF";
    return nullptr;
  }
  return std::make_unique<KernelTypes>(types);
}

KernelTypes::~KernelTypes() { btf__free(btf_); }

const btf_type* KernelTypes::Resolve(uint32_t id) const {
  const btf_type* type = btf__type_by_id(btf_, id);
  while (type != nullptr && (btf_is_mod(type) || btf_is_typedef(type))) {
    type = btf__type_by_id(btf_, type->type);
  }
  return type;
}

std::optional<KernelTypes::Found> KernelTypes::FindIn(const btf_type* structure,
                                                      const std::string& name) const {
  if (structure == nullptr || !btf_is_composite(structure)) return std::nullopt;
  const btf_member* members = btf_members(structure);
  for (uint32_t i = 0; i < btf_vlen(structure); ++i) {
    const char* member_name = btf__name_by_offset(btf_, members[i].name_off);
    const uint32_t bits = btf_member_bit_offset(structure, i);
    if (name == member_name) {
      // A bit field has no address of its own.
      if (btf_member_bitfield_size(structure, i) != 0 || bits % 8 != 0) return std::nullopt;
      const int64_t size = btf__resolve_size(btf_, members[i].type);
      if (size < 0) return std::nullopt;
      return Found{{bits / 8, static_cast<uint32_t>(size)}, members[i].type};
    }
    if (*member_name != '\0') continue;
    if (std::optional<Found> inner = FindIn(Resolve(members[i].type), name)) {
      inner->member.offset += bits / 8;
      return inner;
    }
  }
  return std::nullopt;
}

std::optional<KernelTypes::Member> KernelTypes::Find(const std::string& structure,
                                                     const std::string& member) const {
  const int32_t id = btf__find_by_name_kind(btf_, structure.c_str(), BTF_KIND_STRUCT);
  if (id < 0) return std::nullopt;
  const btf_type* type = btf__type_by_id(btf_, static_cast<uint32_t>(id));
  Member result;
  for (size_t begin = 0; begin <= member.size();) {
    const size_t end = std::min(member.find('.', begin), member.size());
    const std::optional<Found> found = FindIn(type, member.substr(begin, end - begin));
    if (!found) return std::nullopt;
    result.offset += found->member.offset;
    result.size = found->member.size;
    type = Resolve(found->type);
    begin = end + 1;
  }
  return result;
}

std::optional<int64_t> KernelTypes::Enumerator(const std::string& name) const {
  const uint32_t count = btf__type_cnt(btf_);
  for (uint32_t id = 1; id < count; ++id) {
    const btf_type* type = btf__type_by_id(btf_, id);
    if (btf_is_enum(type)) {
      const struct btf_enum* values = btf_enum(type);
      for (uint32_t i = 0; i < btf_vlen(type); ++i) {
        if (name == btf__name_by_offset(btf_, values[i].name_off)) return values[i].val;
      }
    } else if (btf_is_enum64(type)) {
      const struct btf_enum64* values = btf_enum64(type);
      for (uint32_t i = 0; i < btf_vlen(type); ++i) {
        if (name == btf__name_by_offset(btf_, values[i].name_off)) {
          return static_cast<int64_t>(btf_enum64_value(&values[i]));
        }
      }
    }
  }
  return std::nullopt;
}

bool KernelTypes::IsPointerTo(uint32_t id, const std::string& structure) const {
  const btf_type* pointer = Resolve(id);
  if (pointer == nullptr || !btf_is_ptr(pointer)) return false;
  const btf_type* target = Resolve(pointer->type);
  return target != nullptr && (btf_is_composite(target) || btf_is_fwd(target)) &&
         structure == btf__name_by_offset(btf_, target->name_off);
}

std::optional<int> KernelTypes::TracepointArgument(const std::string& tracepoint,
                                                   const std::string& structure) const {
  // The kernel has a typedef for each tracepoint: a pointer to the type of its probe functions.
  const int32_t id =
      btf__find_by_name_kind(btf_, ("btf_trace_" + tracepoint).c_str(), BTF_KIND_TYPEDEF);
  if (id < 0) return std::nullopt;
  const btf_type* pointer = Resolve(static_cast<uint32_t>(id));
  if (pointer == nullptr || !btf_is_ptr(pointer)) return std::nullopt;
  const btf_type* probe = Resolve(pointer->type);
  if (probe == nullptr || !btf_is_func_proto(probe)) return std::nullopt;
  const btf_param* parameters = btf_params(probe);
  // The first parameter is the probe's own data, which a raw tracepoint program does not get.
  for (int i = 1; i < static_cast<int>(btf_vlen(probe)); ++i) {
    if (IsPointerTo(parameters[i].type, structure)) return i - 1;
  }
  return std::nullopt;
}

}  // namespace testbed
