// Where the data sets are that come with the command.
#pragma once

#include <string>

namespace panto::apps {

// `asked`, if it is not empty; else the folder or file `name` beside the installed command (<prefix>/share/panto), or
// in the source tree of a build. Throws NotFound.
std::string find_data(const std::string& asked, const std::string& name);

}  // namespace panto::apps
