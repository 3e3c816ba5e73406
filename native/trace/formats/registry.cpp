// The formats by name, as Python asks for them.
#include "trace/formats/format.hpp"

namespace boomslang::trace {

// A new format declares its maker here and adds a line below.
std::unique_ptr<Format> make_awdit();
std::unique_ptr<Format> make_bincode(std::string_view option);
std::unique_ptr<Format> make_dbcop_json();
std::unique_ptr<Format> make_hist();
std::unique_ptr<Format> make_jepsen_edn();
std::unique_ptr<Format> make_jepsen_json();
std::unique_ptr<Format> make_text();
std::unique_ptr<Format> make_timekiller();
std::unique_ptr<Format> make_viper(std::string_view option);

std::unique_ptr<Format> make_format(std::string_view name, std::string_view option) {
  if (name == "awdit") return make_awdit();
  if (name == "dbcop-bincode") return make_bincode(option);
  if (name == "dbcop-hist") return make_hist();
  if (name == "dbcop-json") return make_dbcop_json();
  if (name == "jepsen-edn") return make_jepsen_edn();
  if (name == "jepsen-json") return make_jepsen_json();
  if (name == "text") return make_text();
  if (name == "timekiller") return make_timekiller();
  if (name == "viper") return make_viper(option);
  return nullptr;
}

}  // namespace boomslang::trace
