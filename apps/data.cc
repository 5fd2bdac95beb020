#include "panto/apps/data.h"

#include <filesystem>
#include <system_error>

#include "panto/lib/base/text/format.h"

namespace panto::apps {

std::string find_data(const std::string& asked, const std::string& name) {
  if (!asked.empty()) return asked;
  std::error_code ignored;
  const std::filesystem::path exe = std::filesystem::read_symlink("/proc/self/exe", ignored);
  const std::filesystem::path candidates[] = {exe.parent_path() / "../share/panto" / name,
                                              std::filesystem::path(PANTO_SOURCE_ROOT) / "apps/data" / name};
  for (const auto& c : candidates) {
    if (std::filesystem::exists(c, ignored)) return c.lexically_normal().string();
  }
  failf(Code::kNotFound, "data: expected '{}' beside the command, got none (say --data)", name);
}

}  // namespace panto::apps
