// panto devices: lists the devices.
#include <fmt/core.h>

#include <string>

#include "panto/apps/commands.h"
#include "panto/lib/core/tensor/device.h"

namespace panto::apps {

void list_devices() {
  for (const Device* d : devices()) fmt::print("{:<16} {}\n", d->name(), d->description());
  for (const std::string& missing : missing_devices()) fmt::print("{}\n", missing);
}

}  // namespace panto::apps
