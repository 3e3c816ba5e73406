// Carries bytes between clients and a server in a thread of its own, and tells the recorder what it has carried.
//
// A connection is *held* or *fast*. Of a held one whatever arrives is given to the recorder, which says what to send
// (`send`). Of a fast one, plain bytes (plain.hpp) are written to the spool and forwarded at once; the recorder gets
// them too, with the time at which they came, and understands them behind. What is not plain makes the connection held,
// until the recorder has caught up with it and says `fast` again; that counts only if nothing has come since what it
// had seen (by the number that all records have), so bytes never overtake each other.
//
// The spool makes that safe: nothing is forwarded that is not in it, so whatever happens to this process, what was
// forwarded can be understood later. Records wait here for the recorder, within a bound, beyond which nothing is read
// from clients any more.
//
// Commands go through a list, in order: a text that is forgotten before something is sent is not plain afterwards.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "wire/plain.hpp"

namespace boomslang::wire {

enum class Kind : uint8_t {
    OPENED,         // the server is reached
    FROM_CLIENT,
    FROM_SERVER,
    CLIENT_CLOSED,
    SERVER_CLOSED,
    UNREACHED,      // the server was not; why
    TROUBLE,        // of the relay itself; why
    NO_SPOOL,       // nothing more can be kept; why
    DRAINED,        // after `drain`: nothing follows
};

struct Record {
    uint64_t number = 0;
    int64_t time = 0;  // CLOCK_MONOTONIC, nanoseconds
    uint32_t connection = 0;
    Kind kind = Kind::OPENED;
    bool forwarded = false;
    std::string data;
};

struct Place {  // a host's number and port, or, with port 0, the path of a socket
    std::string host;
    uint16_t port = 0;
};

class Relay {
public:
    // Takes the listening socket and the spool as they are; closes neither. -1: no spool, and nothing is ever fast.
    Relay(int listener, std::vector<Place> server, Protocol protocol, int spool, size_t most_waiting);
    ~Relay();
    Relay(const Relay&) = delete;

    void run();  // until `quit`
    std::vector<Record> take(size_t most, int milliseconds);

    void send(uint32_t connection, bool to_server, std::string data);
    void keep(std::string spooled);
    void close(uint32_t connection);
    void hold(uint32_t connection, bool held);
    void fast(uint32_t connection, uint64_t seen);
    void know(char kind, std::string text);
    void know_statement(uint32_t connection, uint32_t statement);
    void slow();   // all connections are held, and nothing is plain
    void drain();  // read nothing more
    void quit();

    size_t waiting() const { return waiting_; }
    uint64_t forwarded() const { return forwarded_; }

private:
    struct End {
        int fd = -1;
        std::string out;
        size_t sent = 0;
        bool over = false;     // it will say no more
        uint32_t events = 0;   // as epoll knows them
        size_t pending() const { return out.size() - sent; }
    };
    struct Connection {
        uint32_t id = 0;
        End end[2];            // CLIENT, SERVER
        bool connecting = true, is_fast = false, held = false, closing = false, awaiting = false;
        size_t place = 0;
        uint64_t last = 0;     // the newest record's number
        Statements statements;
    };
    struct Command {
        enum What : uint8_t { SEND, KEEP, CLOSE, HOLD, FAST, KNOW, STATEMENT, SLOW, DRAIN, QUIT } what;
        uint32_t connection = 0;
        uint64_t number = 0;
        std::string data;
    };
    struct Arrived {
        Connection* connection;
        int side;
        Record record;
    };

    void command(Command c);
    void obey();
    void obey(Command& c);
    void wake();
    void accept_all();
    void connect(Connection& c);
    void connected(Connection& c);
    void read_from(Connection& c, int side);
    void forward_arrived();
    void send_to(Connection& c, int side, const char* data, size_t size);
    void flush(Connection& c, int side);
    void finish(Connection& c);
    void drop(Connection& c);
    void watch(Connection& c, int side);
    void watch_all();
    void tell(Connection* c, Kind kind, std::string data);
    void push(Record&& record);
    bool write_spool(const std::string& data);
    Connection* find(uint32_t id);

    const int listener_, spool_;
    const std::vector<Place> server_;
    const Protocol protocol_;
    const size_t most_waiting_;
    int epoll_ = -1, waker_ = -1;
    bool listening_ = true, draining_ = false, quitting_ = false, spool_broken_ = false, full_ = false;
    uint32_t connections_ = 0;
    uint64_t number_ = 0;
    int64_t spool_size_ = 0;
    KnownTexts texts_;
    std::unordered_map<uint32_t, std::unique_ptr<Connection>> all_;
    std::vector<Arrived> arrived_;
    std::vector<char> buffer_;
    std::string spooling_;

    std::mutex inbox_mutex_;
    std::vector<Command> inbox_;
    std::atomic<bool> woken_{false};

    std::mutex queue_mutex_;
    std::condition_variable queue_filled_;
    std::deque<Record> queue_;
    std::atomic<size_t> waiting_{0};
    std::atomic<uint64_t> forwarded_{0};
};

}  // namespace boomslang::wire
