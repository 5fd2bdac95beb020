#include "panto/apps/programs/data/titanic.h"

#include <unistd.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "panto/panto.h"

namespace panto::apps {
namespace {

// Deaths and survivors of all aboard, by class, sex and age (Dawson 1995). The passengers are the table `titanic` of
// the R package COUNT, which the Python package pydataset ships.
struct Group {
  const char *travelled, *sex, *age;
  int died, survived;
  const char* decks;  // decks where they may have slept
};
constexpr Group kGroups[] = {
    {"first", "male", "child", 0, 5, "ABC"},     {"first", "female", "child", 0, 1, "ABC"},
    {"first", "male", "adult", 118, 57, "ABC"},  {"first", "female", "adult", 4, 140, "ABC"},
    {"second", "male", "child", 0, 11, "DEF"},   {"second", "female", "child", 0, 13, "DEF"},
    {"second", "male", "adult", 154, 14, "DEF"}, {"second", "female", "adult", 13, 80, "DEF"},
    {"third", "male", "child", 35, 13, "EFG"},   {"third", "female", "child", 17, 14, "EFG"},
    {"third", "male", "adult", 387, 75, "EFG"},  {"third", "female", "adult", 89, 76, "EFG"},
    {"crew", "male", "adult", 670, 192, "EGO"},  {"crew", "female", "adult", 3, 20, "EGO"},
};

void write_records(const std::string& path) {
  RecordWriter writer(path);
  int number = 0;
  for (const Group& g : kGroups) {
    const bool child = std::string_view(g.age) == "child";
    for (int i = 0; i < g.died + g.survived; ++i, ++number) {
      const int years = child ? 1 + number * 5 % 14 : 16 + number * 11 % 50;
      std::vector<std::string> keywords{std::string("deck ") + g.decks[number * 7 % 3]};
      if (child || number % 4 == 1) keywords.emplace_back("family");
      if (number % 5 == 2) keywords.emplace_back("Cherbourg");
      writer.write(make_example({{"class", tensor({g.travelled})},
                                 {"sex", tensor({g.sex})},
                                 {"age", tensor({g.age})},
                                 {"years", tensor({static_cast<float>(years)})},
                                 {"keywords", tensor_from_strings({static_cast<int64_t>(keywords.size())}, keywords)},
                                 {"survived", tensor(i < g.survived ? 1.0f : 0.0f)}}));
    }
  }
  writer.close();
}

}  // namespace

Tensor titanic_records() {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("panto_titanic_" + std::to_string(getpid()) + ".tfrecord")).string();
  write_records(path);
  std::vector<std::string> records;
  for (const Tensor record : Dataset::from_tfrecord(path)) records.push_back(record.item<std::string>());
  std::filesystem::remove(path);
  return tensor_from_strings({static_cast<int64_t>(records.size())}, records);
}

}  // namespace panto::apps
