import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonParser;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/** Runs the statements of a file with JDBC: Client text|prepared|cursor mariadb|mysql WORK HOST PORT USER PASSWORD DATABASE */
public class Client {
  public static void main(String[] args) throws Exception {
    String how = args[0], driver = args[1];
    String options = driver.equals("mysql") ? "?sslMode=DISABLED&allowPublicKeyRetrieval=true" : "?sslMode=disable";
    options += "&useServerPrepStmts=" + !how.equals("text");
    if (how.equals("cursor")) options += "&useCursorFetch=true&defaultFetchSize=2";
    String url = "jdbc:" + driver + "://" + args[3] + ":" + args[4] + "/" + args[7] + options;
    JsonArray work = JsonParser.parseString(Files.readString(Path.of(args[2]))).getAsJsonArray();
    try (Connection connection = DriverManager.getConnection(url, args[5], args[6])) {
      for (JsonElement element : work) {
        JsonArray statement = element.getAsJsonArray();
        String text = statement.get(0).getAsString();
        try {
          if (statement.get(2).getAsBoolean()) plainly(connection, text);
          else prepared(connection, text, statement.get(1).getAsJsonArray());
        } catch (SQLException error) {
          if (error.getErrorCode() == 0 || connection.isClosed()) throw error;
        }
      }
    }
  }

  static void plainly(Connection connection, String text) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute(text);
    }
  }

  static void prepared(Connection connection, String text, JsonArray given) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(text)) {
      for (int n = 0; n < given.size(); n++) {
        var value = given.get(n).getAsJsonPrimitive();
        if (value.isString()) statement.setString(n + 1, value.getAsString());
        else if (value.getAsString().contains(".")) statement.setDouble(n + 1, value.getAsDouble());
        else statement.setLong(n + 1, value.getAsLong());
      }
      if (!statement.execute()) return;
      try (ResultSet rows = statement.getResultSet()) {
        while (rows.next()) rows.getObject(1);
      }
    }
  }
}
