// The formats by name, as Python asks for them.
#include "trace/formats/format.hpp"

namespace boomslang {

// A new format declares its maker here and adds a line below.
std::unique_ptr<Format> make_jepsen_edn();
std::unique_ptr<Format> make_jepsen_json();
std::unique_ptr<Format> make_timekiller();
std::unique_ptr<Format> make_dbcop_json();

std::unique_ptr<Format> make_format(std::string_view name, std::string_view option) {
  (void)option;
  if (name == "jepsen-edn") return make_jepsen_edn();
  if (name == "jepsen-json") return make_jepsen_json();
  if (name == "timekiller") return make_timekiller();
  if (name == "dbcop-json") return make_dbcop_json();
  return nullptr;
}

}  // namespace boomslang
