// panto ops [NAME]: lists all ops or describes one; writes an OpList; compares with another library's OpList.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "panto/apps/commands.h"
#include "panto/lib/base/file.h"
#include "panto/lib/base/text/quote.h"
#include "panto/lib/core/op/library.h"
#include "panto/lib/core/op/op.h"
#include "panto/lib/graph/files/op_list.h"

namespace panto::apps {
namespace {

std::string kernel_text(const Op& op, DeviceKind kind) {
  const std::string body = "wherever the ops of its body run";
  if (!op.has_kernel(kind)) return op.is_composite() ? body : "none";
  const std::string types = dtype_set_text(op.kernel_types(kind));
  return (types.empty() ? "yes" : types) + (op.is_composite() ? "; else " + body : "");
}

std::string effects_text(const Op& op) {
  std::vector<std::string> words;
  for (const Effect& e : op.effects()) {
    const auto argument = [&](const std::vector<ArgDef>& args) { return args[static_cast<size_t>(e.argument)].name; };
    if ((e.what & Effect::kReads) != 0) words.push_back("reads " + argument(op.signature().inputs));
    if ((e.what & Effect::kWrites) != 0) words.push_back("writes " + argument(op.signature().inputs));
    if ((e.what & Effect::kAllocates) != 0) words.push_back("allocates " + argument(op.signature().outputs));
    if ((e.what & Effect::kRandom) != 0) words.emplace_back("draws random numbers");
    if ((e.what & Effect::kExternal) != 0) words.emplace_back("the outside sees it");
  }
  return words.empty() ? "none" : fmt::format("{}", fmt::join(words, ", "));
}

std::string gradient_text(const Op& op) {
  if (op.gradient() != nullptr) return "yes";
  if (op.body() != nullptr) return "that of its body";
  return op.no_gradient().empty() ? "none" : "none: " + op.no_gradient();
}

void describe_op(const Op& op, bool ours) {
  fmt::print("{}\n\n{}\n\n", op.signature().to_string(), op.doc());
  // For an op of another library, the generator chose the namespace, which the registry does not know.
  fmt::print("C++        {}{}\n", ours ? "panto::" : "", op.cpp_name());
  if (!op.aliases().empty()) fmt::print("aliases    {}\n", fmt::join(op.aliases(), ", "));
  auto traits = op.traits().names();
  if (!op.is(OpKind::kOrdinary)) traits.insert(traits.begin(), op_kind_name(op.kind()));
  fmt::print("traits     {}\n", traits.empty() ? "none" : fmt::format("{}", fmt::join(traits, ", ")));
  fmt::print("effects    {}\n", effects_text(op));
  for (const DeviceKind kind : device_kinds()) {
    fmt::print("{:<10} {}\n", device_kind_name(kind), kernel_text(op, kind));
  }
  fmt::print("gradient   {}\n", gradient_text(op));
}

// Compares another library's op definitions with ours.
void compare(const std::string& path) {
  int same = 0, differ = 0, absent = 0, unreadable = 0;
  for (const ListedOp& theirs : parse_op_list(read_file(path))) {
    const Op* op = find_op(theirs.name);
    if (op == nullptr) {
      ++absent;
      fmt::print("{}: not here\n", printable(theirs.name));
    } else if (!theirs.unreadable.empty()) {
      ++unreadable;
      fmt::print("{}: {}\n", theirs.name, theirs.unreadable);
    } else if (const auto differences = signature_differences(theirs.signature, op->signature()); differences.empty()) {
      ++same;
    } else {
      ++differ;
      fmt::print("{}: {}\n", theirs.name, fmt::join(differences, "; "));
    }
  }
  fmt::print("{} the same, {} differ, {} cannot be read, {} not here\n", same, differ, unreadable, absent);
}

}  // namespace

void ops(const OpsOptions& options) {
  const bool ours = find_op(options.name) != nullptr;
  for (const std::string& library : options.libraries) load_library(library);
  devices();  // registers GPU kernels too
  if (!options.compare.empty()) return compare(options.compare);
  if (options.text || options.json) {
    const std::vector<const Op*> listed =
        options.name.empty() ? all_ops() : std::vector<const Op*>{&get_op(options.name)};
    fmt::print("{}", op_list(listed, options.json ? OpListFormat::kJson : OpListFormat::kText));
    return;
  }
  if (!options.name.empty()) {
    describe_op(get_op(options.name), ours);
    return;
  }
  for (const Op* op : all_ops()) {
    if (!op->name().starts_with("_")) fmt::print("{:<36} {}\n", op->name(), op_summary(*op));
  }
}

}  // namespace panto::apps
