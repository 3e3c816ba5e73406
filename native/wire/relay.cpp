#include "wire/relay.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <stdexcept>

namespace boomslang::wire {

namespace {

constexpr int CLIENT = 0, SERVER = 1;
constexpr size_t CHUNK = 1 << 16;
constexpr size_t MUCH = 1 << 18;  // bytes that wait for an end, beyond which the other one is not read from
constexpr uint64_t LISTENER = ~0ull, WAKER = ~0ull - 1;
constexpr int64_t LAST_WORDS = 300'000'000;  // nanoseconds that are left to what was sent last

int64_t now() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return int64_t(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

std::string reason() { return std::strerror(errno); }

template <class T>
void put(std::string& to, T x) {
    to.append(reinterpret_cast<const char*>(&x), sizeof x);
}

// As record/wire/spool.py reads it.
void put_record(std::string& to, const Record& r) {
    put<uint64_t>(to, r.number);
    put<int64_t>(to, r.time);
    put<uint32_t>(to, r.connection);
    put<uint8_t>(to, static_cast<uint8_t>(r.kind));
    put<uint8_t>(to, r.forwarded);
    put<uint16_t>(to, 0);
    put<uint32_t>(to, static_cast<uint32_t>(r.data.size()));
    to += r.data;
}

socklen_t address_of(const Place& place, sockaddr_storage& made) {
    std::memset(&made, 0, sizeof made);
    if (place.port == 0) {
        auto& to = reinterpret_cast<sockaddr_un&>(made);
        to.sun_family = AF_UNIX;
        std::strncpy(to.sun_path, place.host.c_str(), sizeof to.sun_path - 1);
        return sizeof to;
    }
    auto& four = reinterpret_cast<sockaddr_in&>(made);
    if (inet_pton(AF_INET, place.host.c_str(), &four.sin_addr) == 1) {
        four.sin_family = AF_INET, four.sin_port = htons(place.port);
        return sizeof four;
    }
    auto& six = reinterpret_cast<sockaddr_in6&>(made);
    if (inet_pton(AF_INET6, place.host.c_str(), &six.sin6_addr) == 1) {
        six.sin6_family = AF_INET6, six.sin6_port = htons(place.port);
        return sizeof six;
    }
    return 0;
}

void prepare(int fd) {
    const int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);  // of a path's socket there is none, which is fine
}

}  // namespace

Relay::Relay(int listener, std::vector<Place> server, Protocol protocol, int spool, size_t most_waiting)
    : listener_(listener), spool_(spool), server_(std::move(server)), protocol_(protocol), most_waiting_(most_waiting),
      buffer_(CHUNK) {
    epoll_ = epoll_create1(EPOLL_CLOEXEC);
    waker_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (epoll_ < 0 || waker_ < 0) throw std::runtime_error("cannot watch sockets: " + reason());
    epoll_event e{};
    e.events = EPOLLIN, e.data.u64 = LISTENER;
    epoll_ctl(epoll_, EPOLL_CTL_ADD, listener_, &e);
    e.data.u64 = WAKER;
    epoll_ctl(epoll_, EPOLL_CTL_ADD, waker_, &e);
    if (spool_ >= 0) spool_size_ = lseek(spool_, 0, SEEK_END);
}

Relay::~Relay() {
    for (auto& [id, c] : all_)
        for (End& end : c->end)
            if (end.fd >= 0) ::close(end.fd);
    if (epoll_ >= 0) ::close(epoll_);
    if (waker_ >= 0) ::close(waker_);
}

// --- the recorder's side

void Relay::command(Command c) {
    {
        std::lock_guard lock(inbox_mutex_);
        inbox_.push_back(std::move(c));
    }
    wake();
}

void Relay::wake() {
    if (woken_.exchange(true)) return;
    const uint64_t one = 1;
    if (write(waker_, &one, sizeof one) < 0) return;  // it is awake already
}

void Relay::send(uint32_t connection, bool to_server, std::string data) {
    command({Command::SEND, connection, to_server, std::move(data)});
}
void Relay::keep(std::string spooled) { command({Command::KEEP, 0, 0, std::move(spooled)}); }
void Relay::close(uint32_t connection) { command({Command::CLOSE, connection, 0, {}}); }
void Relay::hold(uint32_t connection, bool held) { command({Command::HOLD, connection, held, {}}); }
void Relay::fast(uint32_t connection, uint64_t seen) { command({Command::FAST, connection, seen, {}}); }
void Relay::know(char kind, std::string text) {
    command({Command::KNOW, 0, static_cast<unsigned char>(kind), std::move(text)});
}
void Relay::know_statement(uint32_t connection, uint32_t statement) {
    command({Command::STATEMENT, connection, statement, {}});
}
void Relay::slow() { command({Command::SLOW, 0, 0, {}}); }
void Relay::drain() { command({Command::DRAIN, 0, 0, {}}); }
void Relay::quit() { command({Command::QUIT, 0, 0, {}}); }

std::vector<Record> Relay::take(size_t most, int milliseconds) {
    std::vector<Record> taken;
    size_t size = 0;
    {
        std::unique_lock lock(queue_mutex_);
        queue_filled_.wait_for(lock, std::chrono::milliseconds(milliseconds), [&] { return !queue_.empty(); });
        while (!queue_.empty() && taken.size() < most) {
            taken.push_back(std::move(queue_.front()));
            queue_.pop_front();
            size += taken.back().data.size() + sizeof(Record);
        }
    }
    const size_t before = waiting_.fetch_sub(size);
    if (before > most_waiting_ / 2 && before - size <= most_waiting_ / 2) wake();
    return taken;
}

void Relay::push(Record&& record) {
    waiting_ += record.data.size() + sizeof(Record);
    bool was_empty;
    {
        std::lock_guard lock(queue_mutex_);
        was_empty = queue_.empty();
        queue_.push_back(std::move(record));
    }
    if (was_empty) queue_filled_.notify_one();
}

void Relay::tell(Connection* c, Kind kind, std::string data) {
    Record r;
    r.number = ++number_, r.time = now(), r.kind = kind, r.data = std::move(data);
    if (c != nullptr) r.connection = c->id, c->last = r.number;
    push(std::move(r));
}

// --- the loop

void Relay::run() {
    epoll_event events[128];
    int64_t ends = 0;
    while (true) {
        if (quitting_) {
            if (ends == 0) ends = now() + LAST_WORDS;
            bool pending = false;
            for (auto& [id, c] : all_) pending |= c->end[CLIENT].pending() > 0 || c->end[SERVER].pending() > 0;
            if (!pending || now() > ends) return;
        }
        const int count = epoll_wait(epoll_, events, 128, quitting_ ? 10 : listening_ || draining_ ? -1 : 100);
        if (!listening_ && !draining_) {  // there was no room for another connection; perhaps there is now
            listening_ = true;
            epoll_event e{};
            e.events = EPOLLIN, e.data.u64 = LISTENER;
            epoll_ctl(epoll_, EPOLL_CTL_ADD, listener_, &e);
        }
        for (int n = 0; n < count; ++n) {
            const uint64_t what = events[n].data.u64;
            if (what == WAKER) {
                uint64_t ignored;
                while (read(waker_, &ignored, sizeof ignored) > 0) {}
                woken_ = false;
                continue;
            }
            if (what == LISTENER) {
                accept_all();
                continue;
            }
            Connection* c = find(static_cast<uint32_t>(what >> 1));
            const int side = what & 1;
            if (c == nullptr) continue;
            const uint32_t is = events[n].events;
            if (side == SERVER && c->connecting) {
                connected(*c);
                continue;
            }
            if (is & EPOLLOUT) flush(*c, side);
            if (is & (EPOLLIN | EPOLLHUP | EPOLLERR)) read_from(*c, side);
        }
        forward_arrived();
        obey();
        if (full_ != (waiting_ > (full_ ? most_waiting_ / 2 : most_waiting_))) {
            full_ = !full_;
            watch_all();
        }
    }
}

Relay::Connection* Relay::find(uint32_t id) {
    const auto found = all_.find(id);
    return found == all_.end() ? nullptr : found->second.get();
}

// A client is taken only when there is room for all that a connection takes: its socket, the server's, and the file that
// it is recorded in. One that was taken without would have to be turned away, or would not be recorded; one that waits in
// the queue is served as soon as there is room.
void Relay::accept_all() {
    while (true) {
        const int for_the_server = fcntl(listener_, F_DUPFD_CLOEXEC, 0);
        const int for_the_file = for_the_server < 0 ? -1 : fcntl(listener_, F_DUPFD_CLOEXEC, 0);
        const int fd = for_the_file < 0 ? -1 : accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)) {
            tell(nullptr, Kind::TROUBLE, "it has to wait until others end (" + reason() + ")");
            epoll_ctl(epoll_, EPOLL_CTL_DEL, listener_, nullptr);
            listening_ = false;
        }
        for (const int kept : {for_the_server, for_the_file})
            if (kept >= 0) ::close(kept);
        if (fd < 0) return;
        prepare(fd);
        auto c = std::make_unique<Connection>();
        c->id = ++connections_;
        c->end[CLIENT].fd = fd;
        Connection& made = *c;
        all_.emplace(made.id, std::move(c));
        connect(made);
    }
}

void Relay::connect(Connection& c) {
    std::string why = "no address";
    for (; c.place < server_.size(); ++c.place) {
        sockaddr_storage to;
        const socklen_t size = address_of(server_[c.place], to);
        if (size == 0) continue;
        const int fd = socket(to.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (fd < 0) {
            why = reason();
            continue;
        }
        prepare(fd);
        if (::connect(fd, reinterpret_cast<sockaddr*>(&to), size) == 0 || errno == EINPROGRESS) {
            c.end[SERVER].fd = fd;
            c.end[SERVER].events = 0;
            watch(c, SERVER);
            return;
        }
        why = reason();
        ::close(fd);
    }
    c.connecting = false;
    tell(&c, Kind::UNREACHED, why);
}

void Relay::connected(Connection& c) {
    int error = 0;
    socklen_t size = sizeof error;
    End& server = c.end[SERVER];
    getsockopt(server.fd, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) {
        ::close(server.fd);
        server.fd = -1;
        if (++c.place < server_.size()) {
            connect(c);
            return;
        }
        c.connecting = false;
        tell(&c, Kind::UNREACHED, std::strerror(error));
        return;
    }
    c.connecting = false;
    tell(&c, Kind::OPENED, {});
    watch(c, CLIENT);
    watch(c, SERVER);
}

void Relay::read_from(Connection& c, int side) {
    End& end = c.end[side];
    if (end.fd < 0 || end.over) return;
    if (c.closing || draining_) {  // it only waits for its last words
        if (end.pending() == 0) drop(c);
        else watch(c, side);
        return;
    }
    const ssize_t got = recv(end.fd, buffer_.data(), CHUNK, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    Arrived a{&c, side, {}};
    a.record.time = now();
    a.record.connection = c.id;
    if (got <= 0) {
        end.over = true;
        a.record.kind = side == CLIENT ? Kind::CLIENT_CLOSED : Kind::SERVER_CLOSED;
        a.record.forwarded = c.is_fast;
        watch(c, side);
    } else {
        const std::string_view data(buffer_.data(), static_cast<size_t>(got));
        a.record.kind = side == CLIENT ? Kind::FROM_CLIENT : Kind::FROM_SERVER;
        if (c.is_fast && side == CLIENT)
            c.is_fast = !c.awaiting && plain_from_client(protocol_, data, texts_, c.statements);
        else if (c.is_fast)
            c.is_fast = plain_from_server(protocol_, data);
        a.record.forwarded = c.is_fast && !spool_broken_;
        if (protocol_ == Protocol::MYSQL) c.awaiting = side == CLIENT && c.is_fast && data[4] != 0x19;
        a.record.data = data;
    }
    a.record.number = c.last = ++number_;
    if (a.record.forwarded) put_record(spooling_, a.record);
    arrived_.push_back(std::move(a));
}

// What has arrived: into the spool, then on its way, then to the recorder.
void Relay::forward_arrived() {
    if (arrived_.empty()) return;
    bool kept = true;
    if (!spooling_.empty()) {
        kept = write_spool(spooling_);
        spooling_.clear();
    }
    for (Arrived& a : arrived_) {
        if (!kept && a.record.forwarded) a.record.forwarded = a.connection->is_fast = false;
        if (a.record.forwarded) {
            const int other = 1 - a.side;
            if (a.record.kind == Kind::FROM_CLIENT || a.record.kind == Kind::FROM_SERVER) {
                send_to(*a.connection, other, a.record.data.data(), a.record.data.size());
                ++forwarded_;
            } else {
                a.connection->closing = true;  // nobody is to wait for the recorder, who may be behind
            }
        }
    }
    std::vector<Arrived> told;
    told.swap(arrived_);
    for (Arrived& a : told) {
        Connection* c = find(a.record.connection);  // an earlier one of these may have finished it
        if (c != nullptr && c->closing) finish(*c);
        push(std::move(a.record));
    }
    told.clear();
    arrived_.swap(told);  // keeps its room
}

bool Relay::write_spool(const std::string& data) {
    if (spool_ < 0 || spool_broken_) return false;
    size_t written = 0;
    while (written < data.size()) {
        const ssize_t n = write(spool_, data.data() + written, data.size() - written);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            const std::string why = reason();
            if (ftruncate(spool_, spool_size_) != 0) {}  // then a torn record is its last one
            spool_broken_ = true;
            tell(nullptr, Kind::NO_SPOOL, why);
            return false;
        }
        written += static_cast<size_t>(n);
    }
    spool_size_ += static_cast<int64_t>(data.size());
    return true;
}

void Relay::send_to(Connection& c, int side, const char* data, size_t size) {
    End& end = c.end[side];
    if (end.fd < 0) return;
    size_t sent = 0;
    if (end.pending() == 0) {
        const ssize_t n = ::send(end.fd, data, size, MSG_NOSIGNAL);
        if (n >= 0) sent = static_cast<size_t>(n);
        else if (errno != EAGAIN && errno != EINTR) return;  // it is gone, as its end will tell
    }
    if (sent < size) {
        if (end.pending() == 0) end.out.clear(), end.sent = 0;
        end.out.append(data + sent, size - sent);
        watch(c, side);
        watch(c, 1 - side);
    }
}

void Relay::flush(Connection& c, int side) {
    End& end = c.end[side];
    while (end.pending() > 0) {
        const ssize_t n = ::send(end.fd, end.out.data() + end.sent, end.pending(), MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) break;
        if (n < 0) end.sent = end.out.size();  // it is gone
        else end.sent += static_cast<size_t>(n);
    }
    if (end.pending() == 0) end.out.clear(), end.sent = 0;
    if (c.closing) finish(c);
    else watch(c, side), watch(c, 1 - side);
}

// Close what has no more to say, and the connection when that is both ends.
void Relay::finish(Connection& c) {
    for (int side : {CLIENT, SERVER}) {
        End& end = c.end[side];
        if (end.fd >= 0 && (end.pending() == 0 || end.over)) {
            ::close(end.fd);
            end.fd = -1;
        } else {
            watch(c, side);
        }
    }
    if (c.end[CLIENT].fd < 0 && c.end[SERVER].fd < 0) all_.erase(c.id);
}

void Relay::drop(Connection& c) {
    for (End& end : c.end) {
        if (end.fd >= 0) ::close(end.fd);
        end.fd = -1;
    }
    all_.erase(c.id);
}

void Relay::watch(Connection& c, int side) {
    End& end = c.end[side];
    if (end.fd < 0) return;
    uint32_t wanted = 0;
    if (side == SERVER && c.connecting) {
        wanted = EPOLLOUT;
    } else {
        const bool reads = !end.over && !c.connecting && !c.closing && !draining_ && c.end[1 - side].pending() < MUCH &&
                           !(side == CLIENT && (c.held || full_));
        wanted = (reads ? uint32_t(EPOLLIN) : 0u) | (end.pending() > 0 ? uint32_t(EPOLLOUT) : 0u);
    }
    if (wanted == end.events) return;
    epoll_event e{};
    e.events = wanted;
    e.data.u64 = uint64_t(c.id) << 1 | uint64_t(side);
    // An end of which nothing is wanted is taken out: epoll tells of one that has gone again and again.
    const int how = end.events == 0 ? EPOLL_CTL_ADD : wanted == 0 ? EPOLL_CTL_DEL : EPOLL_CTL_MOD;
    epoll_ctl(epoll_, how, end.fd, &e);
    end.events = wanted;
}

void Relay::watch_all() {
    for (auto& [id, c] : all_)
        if (!c->connecting) watch(*c, CLIENT), watch(*c, SERVER);
}

// --- commands

void Relay::obey() {
    std::vector<Command> commands;
    {
        std::lock_guard lock(inbox_mutex_);
        commands.swap(inbox_);
    }
    for (Command& c : commands) obey(c);
}

void Relay::obey(Command& command) {
    switch (command.what) {
        case Command::KEEP:
            write_spool(command.data);
            return;
        case Command::KNOW:
            texts_.add(static_cast<char>(command.number), command.data);
            return;
        case Command::SLOW:
            texts_.clear();
            for (auto& [id, c] : all_) c->is_fast = false, c->statements.clear();
            return;
        case Command::DRAIN:
            if (listening_) epoll_ctl(epoll_, EPOLL_CTL_DEL, listener_, nullptr);
            draining_ = true, listening_ = false;
            watch_all();
            tell(nullptr, Kind::DRAINED, {});
            return;
        case Command::QUIT:
            quitting_ = true;
            return;
        default:
            break;
    }
    Connection* c = find(command.connection);
    if (c == nullptr) return;
    switch (command.what) {
        case Command::SEND:
            if (command.number && spool_ >= 0 && spool_broken_) return;  // nothing is forwarded that is not kept
            if (!c->connecting) send_to(*c, command.number ? SERVER : CLIENT, command.data.data(), command.data.size());
            return;
        case Command::CLOSE:
            c->closing = true;
            finish(*c);
            return;
        case Command::HOLD:
            c->held = command.number != 0;
            watch(*c, CLIENT);
            return;
        case Command::FAST:
            c->is_fast = c->last == command.number && spool_ >= 0 && !spool_broken_ && !draining_;
            c->awaiting = false;
            return;
        case Command::STATEMENT:
            c->statements.insert(static_cast<uint32_t>(command.number));
            return;
        default:
            return;
    }
}

}  // namespace boomslang::wire
