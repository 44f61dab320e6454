import com.openai.client.OpenAIClient;
import com.openai.client.okhttp.OpenAIOkHttpClient;
import com.openai.models.chat.completions.ChatCompletionContentPart;
import com.openai.models.chat.completions.ChatCompletionContentPartImage;
import com.openai.models.chat.completions.ChatCompletionContentPartText;
import com.openai.models.chat.completions.ChatCompletionCreateParams;
import com.openai.models.chat.completions.ChatCompletionMessage;
import com.openai.models.chat.completions.ChatCompletionToolMessageParam;
import com.openai.models.embeddings.EmbeddingCreateParams;
import com.openai.models.images.ImageGenerateParams;
import com.openai.models.responses.Response;
import com.openai.models.responses.ResponseCreateParams;
import java.util.Base64;
import java.util.List;
import java.util.Map;

/** The package `com.openai:openai-java`. */
public final class Main {
  public static class City {
    public String city;
  }

  @com.fasterxml.jackson.annotation.JsonClassDescription("The weather of a city.")
  public static class Weather {
    public String city;
  }

  static OpenAIClient client(String token) {
    return OpenAIOkHttpClient.builder().baseUrl(Told.URL + "/v1").apiKey(token).build();
  }

  static ChatCompletionCreateParams.Builder request() {
    return ChatCompletionCreateParams.builder().model(Told.CHAT_MODEL);
  }

  static ChatCompletionMessage ask(String token, ChatCompletionCreateParams params) {
    return client(token).chat().completions().create(params).choices().get(0).message();
  }

  static String hello(String token) {
    return ask(token, request().addUserMessage("Say hello.").build()).content().orElse("");
  }

  static Map<String, Object> stream() {
    StringBuilder text = new StringBuilder();
    int[] pieces = {0};
    var params = request().addUserMessage("Say hello.").build();
    try (var events = client(Told.TOKEN).chat().completions().createStreaming(params)) {
      events.stream()
          .flatMap(chunk -> chunk.choices().stream())
          .flatMap(choice -> choice.delta().content().stream())
          .filter(piece -> !piece.isEmpty())
          .forEach(piece -> {
            text.append(piece);
            pieces[0]++;
          });
    }
    return Told.said(text.toString(), "pieces", pieces[0]);
  }

  static Map<String, Object> tools() {
    var params = request().addTool(Weather.class);
    String text = "";
    for (String question : Told.QUESTIONS) {
      params.addUserMessage(question);
      for (;;) {
        var message = ask(Told.TOKEN, params.build());
        params.addMessage(message);
        var calls = message.toolCalls().orElse(List.of());
        for (var call : calls) {
          var function = call.asFunction();
          var asked = function.function().arguments(Weather.class);
          Told.toolRuns++;
          params.addMessage(ChatCompletionToolMessageParam.builder()
              .toolCallId(function.id())
              .content("Rain in " + asked.city + ".")
              .build());
        }
        text = message.content().orElse("");
        if (calls.isEmpty()) break;
      }
    }
    return Told.said(text, "calls", Told.toolRuns);
  }

  static Map<String, Object> structured() {
    var params = request().addUserMessage("Name a city.").responseFormat(City.class).build();
    var answer = client(Told.TOKEN).chat().completions().create(params);
    return Told.said(answer.choices().get(0).message().content().orElseThrow().city);
  }

  static Map<String, Object> picture() {
    var text = ChatCompletionContentPartText.builder().text("What is this?").build();
    var url = ChatCompletionContentPartImage.ImageUrl.builder().url(Told.PIXEL_URL).build();
    var image = ChatCompletionContentPartImage.builder().imageUrl(url).build();
    var parts = List.of(ChatCompletionContentPart.ofText(text), ChatCompletionContentPart.ofImageUrl(image));
    var params = request().addUserMessageOfArrayOfContentParts(parts).build();
    return Told.said(ask(Told.TOKEN, params).content().orElse(""));
  }

  static Map<String, Object> image() {
    var made = client(Told.TOKEN).images().generate(ImageGenerateParams.builder()
        .model(Told.IMAGE_MODEL)
        .prompt("a gate")
        .size(ImageGenerateParams.Size._512X512)
        .responseFormat(ImageGenerateParams.ResponseFormat.B64_JSON)
        .build());
    byte[] bytes = Base64.getDecoder().decode(made.data().orElseThrow().get(0).b64Json().orElseThrow());
    return Told.said(new String(bytes, 1, 3));
  }

  static Map<String, Object> embedding() {
    var params = EmbeddingCreateParams.builder().model(Told.EMBEDDING_MODEL).input("hello").build();
    var made = client(Told.TOKEN).embeddings().create(params);
    return Told.said(String.valueOf(made.data().get(0).embedding().size()));
  }

  static Map<String, Object> state() {
    var remembering = client(Told.TOKEN).responses();
    var first = remembering.create(
        ResponseCreateParams.builder().model(Told.MEMORY_MODEL).input("Remember this.").build());
    var second = remembering.create(ResponseCreateParams.builder()
        .model(Told.MEMORY_MODEL)
        .input("What did I say?")
        .previousResponseId(first.id())
        .build());
    return Told.said(textOf(second));
  }

  static String textOf(Response response) {
    StringBuilder text = new StringBuilder();
    response.output().stream()
        .flatMap(item -> item.message().stream())
        .flatMap(message -> message.content().stream())
        .flatMap(part -> part.outputText().stream())
        .forEach(part -> text.append(part.text()));
    return text.toString();
  }

  public static void main(String[] arguments) {
    Told.feature("chat", () -> Told.said(hello(Told.TOKEN)));
    Told.feature("stream", Main::stream);
    Told.feature("tools", Main::tools);
    Told.feature("structured", Main::structured);
    Told.feature("picture", Main::picture);
    Told.feature("image", Main::image);
    Told.feature("embedding", Main::embedding);
    Told.feature("state", Main::state);
    Told.refusals(Main::hello);
    System.exit(0);
  }
}
