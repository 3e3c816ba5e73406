// The one extension module: a module inside it for each phase that has a hot core.
//
// One, because each of its own would read nanobind's headers again, and carry a nanobind of its own.
#include <nanobind/nanobind.h>

namespace boomslang {
namespace trace { void bind(nanobind::module_ m); }
namespace asg { void bind(nanobind::module_ m); }
namespace engine { void bind(nanobind::module_ m); }
namespace windows { void bind(nanobind::module_ m); }
namespace stream { void bind(nanobind::module_ m); }
namespace explain { void bind(nanobind::module_ m); }
namespace wire { void bind(nanobind::module_ m); }
}  // namespace boomslang

NB_MODULE(_native, m) {
    using namespace boomslang;
    trace::bind(m.def_submodule("reader"));
    asg::bind(m.def_submodule("analyse"));
    engine::bind(m.def_submodule("engine"));
    windows::bind(m.def_submodule("windows"));
    stream::bind(m.def_submodule("live"));
    explain::bind(m.def_submodule("known"));
#ifdef __linux__  // it waits for sockets with epoll
    wire::bind(m.def_submodule("relay"));
#endif
}
