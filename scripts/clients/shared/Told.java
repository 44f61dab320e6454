import java.util.LinkedHashMap;
import java.util.Map;

/** What every program of a Java client tells: one line of JSON for each feature. */
final class Told {
  static final String URL = System.getenv("TOLLGATE_URL");
  static final String TOKEN = System.getenv("TOLLGATE_TOKEN");
  static final String CHAT_MODEL = System.getenv("CHAT_MODEL");
  static final String MEMORY_MODEL = System.getenv("MEMORY_MODEL");
  static final String IMAGE_MODEL = System.getenv("IMAGE_MODEL");
  static final String EMBEDDING_MODEL = System.getenv("EMBEDDING_MODEL");
  static final String PIXEL = System.getenv("PIXEL_BASE64");
  static final String PIXEL_URL = "data:image/png;base64," + PIXEL;
  static final String[] QUESTIONS = {"How is the weather in Oslo?", "And now?"};
  static int toolRuns = 0;

  interface Act {
    Map<String, Object> run() throws Exception;
  }

  interface Ask {
    String with(String token) throws Exception;
  }

  static Map<String, Object> said(String text) {
    Map<String, Object> facts = new LinkedHashMap<>();
    facts.put("said", text);
    return facts;
  }

  static Map<String, Object> said(String text, String counted, int count) {
    Map<String, Object> facts = said(text);
    facts.put(counted, count);
    return facts;
  }

  static void feature(String name, Act act) {
    try {
      tell(name, act.run());
    } catch (Throwable failure) {
      Map<String, Object> facts = new LinkedHashMap<>();
      facts.put("error", failure.getClass().getSimpleName());
      facts.put("text", String.valueOf(failure.getMessage()));
      tell(name, facts);
    }
  }

  static void absent(String... names) {
    for (String name : names) tell(name, Map.of("absent", true));
  }

  static void refusals(Ask ask) {
    Map<String, String> tokens = Map.of("401", "BAD_TOKEN", "402", "POOR_TOKEN", "429", "BUSY_TOKEN");
    tokens.forEach((name, variable) -> feature(name, () -> said(ask.with(System.getenv(variable)))));
  }

  private static void tell(String feature, Map<String, Object> facts) {
    StringBuilder line = new StringBuilder("{\"feature\":" + quoted(feature));
    facts.forEach((key, value) -> line.append(',').append(quoted(key)).append(':').append(shown(value)));
    System.out.println(line.append('}'));
  }

  private static String shown(Object value) {
    return value instanceof String text ? quoted(text) : String.valueOf(value);
  }

  private static String quoted(String text) {
    StringBuilder quoted = new StringBuilder("\"");
    for (char one : text.toCharArray()) {
      if (one == '"' || one == '\\') quoted.append('\\').append(one);
      else if (one < ' ') quoted.append(String.format("\\u%04x", (int) one));
      else quoted.append(one);
    }
    return quoted.append('"').toString();
  }
}
