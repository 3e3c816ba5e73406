import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.function.LongSupplier;

/** One session of a Boomslang trace: a line for each operation, in one write, when it has returned. One thread each. */
public final class Recorder implements AutoCloseable {
    public static final Object ABSENT = new Object();

    private final FileOutputStream file;
    private final LongSupplier clock;
    private long transaction;
    private long invoked;

    /** `clock`: nanoseconds of a monotonic clock, such as System::nanoTime; `clockName`: whose it is, such as the host. */
    public Recorder(String path, String clockName, LongSupplier clock) throws IOException {
        this.file = new FileOutputStream(path, true);
        this.clock = clock;
        write("{\"boomslang\":1,\"clock\":" + json(clockName) + ",\"unit\":\"ns\"}");
    }

    /** Before each call of the database. */
    public void before() { invoked = clock.getAsLong(); }

    public void begin() throws IOException { line("begin", ",\"txn\":" + ++transaction, null); }
    public void commit() throws IOException { line("commit", "", null); }
    public void abort() throws IOException { line("abort", "", null); }
    public void put(Object key, Object value) throws IOException { line("put", pair(key, value), null); }
    public void get(Object key, Object value) throws IOException { line("get", pair(key, value), null); }

    /** `found`: whether there was something to delete; null: the database did not say. */
    public void delete(Object key, Boolean found) throws IOException {
        line("delete", ",\"key\":" + json(key) + (found == null ? "" : ",\"found\":" + found), null);
    }

    /** All keys from lo up to but not including hi (null: no bound). What is not among the items was absent. */
    public void scan(Object lo, Object hi, List<Map.Entry<?, ?>> items) throws IOException {
        StringBuilder text = new StringBuilder();
        for (Map.Entry<?, ?> item : items)
            text.append(text.length() == 0 ? "" : ",").append("[" + json(item.getKey()) + "," + json(item.getValue()) + "]");
        line("scan", bound("from", lo) + bound("to", hi) + ",\"items\":[" + text + "]", null);
    }

    /** It failed and did nothing; of a commit: nobody knows. `key` is null where the operation has none. */
    public void failed(String op, Object key, Object value, String error) throws IOException {
        line(op, key == null ? "" : value == null ? ",\"key\":" + json(key) : pair(key, value), error);
    }

    private String bound(String name, Object key) { return key == null ? "" : ",\"" + name + "\":" + json(key); }

    private String pair(Object key, Object value) {
        return ",\"key\":" + json(key) + (value == ABSENT ? ",\"absent\":true" : ",\"value\":" + json(value));
    }

    private void line(String op, String rest, String error) throws IOException {
        String end = error == null ? "" : ",\"error\":" + json(error);
        write("{\"op\":\"" + op + "\"" + rest + ",\"invoke\":" + invoked + ",\"return\":" + clock.getAsLong() + end + "}");
    }

    private void write(String line) throws IOException { file.write((line + "\n").getBytes(StandardCharsets.UTF_8)); }

    static String json(Object x) {
        if (x == null || x instanceof Boolean || x instanceof Integer || x instanceof Long) return String.valueOf(x);
        if (x instanceof Double d && Double.isFinite(d)) return d.toString();
        if (x instanceof byte[] bytes) {
            StringBuilder hex = new StringBuilder();
            for (byte b : bytes) hex.append(String.format("%02x", b));
            return "{\"bytes\":\"" + hex + "\"}";
        }
        if (!(x instanceof String)) throw new IllegalArgumentException("a key or value that a trace cannot say: " + x);
        StringBuilder text = new StringBuilder("\"");
        for (char c : ((String) x).toCharArray())
            text.append(c == '"' || c == '\\' ? "\\" + c : c < ' ' ? String.format("\\u%04x", (int) c) : String.valueOf(c));
        return text.append('"').toString();
    }

    @Override public void close() throws IOException { file.close(); }
}
