#include "panto/lib/base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <set>

#include "panto/lib/base/text/format.h"

namespace panto {
namespace {

spdlog::logger& logger() {
  // Leaked on purpose: code that runs at process exit may still log.
  static auto* shared = [] {
    auto* made = new spdlog::logger("panto", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    const char* level = std::getenv("PANTO_LOG");  // NOLINT(concurrency-mt-unsafe): read once, at first use
    made->set_level(level != nullptr ? spdlog::level::from_str(level) : spdlog::level::warn);
    made->set_pattern("%^%L%$ %v");
    return made;
  }();
  return *shared;
}

}  // namespace

void log_debug(std::string_view text) { logger().debug(text); }
void log_info(std::string_view text) { logger().info(text); }
void log_warn(std::string_view text) { logger().warn(text); }

void log_warn_once(std::string_view text) {
  static std::mutex mutex;
  static auto* said = new std::set<std::string, std::less<>>;  // leaked on purpose, as the logger is
  {
    const std::lock_guard lock(mutex);
    if (!said->emplace(text).second) return;
  }
  log_warn(text);
}

std::string set_log_level(std::string_view level) {
  const std::string wanted(level);
  const spdlog::level::level_enum parsed = spdlog::level::from_str(wanted);  // returns "off" for unknown words, too
  if (parsed == spdlog::level::off && wanted != "off") {
    invalid("log level: expected debug, info, warn, error or off, got '{}'", wanted);
  }
  const spdlog::string_view_t before = spdlog::level::to_string_view(logger().level());
  logger().set_level(parsed);
  return {before.data(), before.size()};
}

bool log_debug_enabled() { return logger().should_log(spdlog::level::debug); }

}  // namespace panto
