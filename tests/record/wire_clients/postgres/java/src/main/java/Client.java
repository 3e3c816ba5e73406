// Runs the statements of a file with pgjdbc: Client MODE THRESHOLD HOST:PORT/DATABASE USER PASSWORD PROGRAM.json
// MODE: pgjdbc's preferQueryMode; THRESHOLD: executions after which a statement gets a name on the server.
import com.google.gson.Gson;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Properties;

class Client {
    record Step(String sql, Object[] args, boolean fails) {}

    public static void main(String[] said) throws Exception {
        Properties how = new Properties();
        how.setProperty("preferQueryMode", said[0]);
        how.setProperty("prepareThreshold", said[1]);
        how.setProperty("user", said[3]);
        how.setProperty("password", said[4]);
        how.setProperty("sslmode", "disable");
        Step[] program = new Gson().fromJson(Files.readString(Path.of(said[5])), Step[].class);
        try (Connection connection = DriverManager.getConnection("jdbc:postgresql://" + said[2], how)) {
            for (Step one : program) {
                String why = null;
                try {
                    run(connection, one);
                } catch (SQLException error) {
                    why = error.toString();
                }
                if ((why != null) != one.fails()) throw new IllegalStateException(one.sql() + ": " + why);
            }
        }
    }

    static void run(Connection connection, Step one) throws SQLException {
        if (one.args().length == 0) {
            try (Statement statement = connection.createStatement()) {
                if (statement.execute(one.sql())) read(statement.getResultSet());
            }
            return;
        }
        try (PreparedStatement statement = connection.prepareStatement(one.sql().replaceAll("\\$\\d", "?"))) {
            for (int n = 0; n < one.args().length; ++n) {
                Object value = one.args()[n];
                if (value instanceof Double number) statement.setInt(n + 1, number.intValue());
                else statement.setString(n + 1, (String) value);
            }
            if (statement.execute()) read(statement.getResultSet());
        }
    }

    static void read(ResultSet rows) throws SQLException {
        while (rows.next()) {}
    }
}
