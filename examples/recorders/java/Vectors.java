import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;

/** Plays a program of test vectors: java Vectors PROGRAM OUT. The clock counts 1, 2, 3, ... */
public final class Vectors {
    private static long now = 0;

    public static void main(String[] words) throws Exception {
        try (Recorder recorder = new Recorder(words[1], "test", () -> ++now)) {
            for (String line : Files.readAllLines(Path.of(words[0]))) play(recorder, line.split("\t", -1));
        }
    }

    private static void play(Recorder to, String[] w) throws Exception {
        to.before();
        switch (w[0]) {
            case "begin" -> to.begin();
            case "commit" -> to.commit();
            case "abort" -> to.abort();
            case "put" -> to.put(value(w[1]), value(w[2]));
            case "get" -> to.get(value(w[1]), value(w[2]));
            case "delete" -> to.delete(value(w[1]), w[2].equals("-") ? null : w[2].equals("found"));
            case "scan" -> {
                List<Map.Entry<?, ?>> items = new ArrayList<>();
                for (int n = 3; n + 1 < w.length; n += 2) items.add(new java.util.AbstractMap.SimpleEntry<>(value(w[n]), value(w[n + 1])));
                to.scan(value(w[1]), value(w[2]), items);
            }
            case "failed" -> to.failed(w[1], value(w[2]), value(w[3]), (String) value(w[4]));
            default -> throw new IllegalArgumentException(w[0]);
        }
    }

    private static Object value(String word) {
        String rest = word.length() > 2 ? word.substring(2) : "";
        return switch (word.charAt(0)) {
            case 's' -> URLDecoder.decode(rest.replace("+", "%2B"), StandardCharsets.UTF_8);
            case 'i' -> Long.valueOf(rest);
            case 'f' -> Double.valueOf(rest);
            case 'b' -> Boolean.valueOf(rest);
            case 'x' -> HexFormat.of().parseHex(rest);
            case 'a' -> Recorder.ABSENT;
            default -> null;
        };
    }
}
