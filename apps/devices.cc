// panto devices: what there is to run on.
#include <fmt/core.h>

#include <string>

#include "panto/apps/commands.h"
#include "panto/lib/core/tensor/device.h"

namespace panto::apps {

void list_devices() {
  for (const Device* d : devices()) fmt::print("{:<16} {}\n", d->name(), d->description());
  if (const std::string why = why_no_gpu(); !why.empty()) fmt::print("no GPU: {}\n", why);
}

}  // namespace panto::apps
