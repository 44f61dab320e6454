import dev.langchain4j.agent.tool.P;
import dev.langchain4j.agent.tool.Tool;
import dev.langchain4j.data.message.ImageContent;
import dev.langchain4j.data.message.TextContent;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.memory.chat.MessageWindowChatMemory;
import dev.langchain4j.model.chat.Capability;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.chat.response.StreamingChatResponseHandler;
import dev.langchain4j.model.openai.OpenAiChatModel;
import dev.langchain4j.model.openai.OpenAiEmbeddingModel;
import dev.langchain4j.model.openai.OpenAiImageModel;
import dev.langchain4j.model.openai.OpenAiStreamingChatModel;
import dev.langchain4j.service.AiServices;
import java.util.Base64;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** The package `dev.langchain4j:langchain4j-open-ai`. */
public final class Main {
  static final String BASE = Told.URL + "/v1";

  record City(String city) {}

  interface Helper {
    String answer(String question);
  }

  interface Namer {
    City name(String question);
  }

  public static class Weather {
    @Tool("The weather of a city.")
    public String weather(@P(name = "city", value = "the city") String city) {
      Told.toolRuns++;
      return "Rain in " + city + ".";
    }
  }

  static OpenAiChatModel model(String token) {
    return OpenAiChatModel.builder()
        .baseUrl(BASE)
        .apiKey(token)
        .modelName(Told.CHAT_MODEL)
        .supportedCapabilities(Capability.RESPONSE_FORMAT_JSON_SCHEMA)
        .strictJsonSchema(true)
        .build();
  }

  static Map<String, Object> stream() throws Exception {
    var streaming = OpenAiStreamingChatModel.builder().baseUrl(BASE).apiKey(Told.TOKEN).modelName(Told.CHAT_MODEL);
    var whole = new CompletableFuture<String>();
    int[] pieces = {0};
    streaming.build().chat("Say hello.", new StreamingChatResponseHandler() {
      @Override
      public void onPartialResponse(String piece) {
        pieces[0]++;
      }

      @Override
      public void onCompleteResponse(ChatResponse response) {
        whole.complete(response.aiMessage().text());
      }

      @Override
      public void onError(Throwable failure) {
        whole.completeExceptionally(failure);
      }
    });
    return Told.said(whole.get(), "pieces", pieces[0]);
  }

  static Map<String, Object> tools() {
    var helper = AiServices.builder(Helper.class)
        .chatModel(model(Told.TOKEN))
        .chatMemory(MessageWindowChatMemory.withMaxMessages(20))
        .tools(new Weather())
        .build();
    String text = "";
    for (String question : Told.QUESTIONS) text = helper.answer(question);
    return Told.said(text, "calls", Told.toolRuns);
  }

  static Map<String, Object> structured() {
    return Told.said(AiServices.create(Namer.class, model(Told.TOKEN)).name("Name a city.").city());
  }

  static Map<String, Object> picture() {
    var message = UserMessage.from(TextContent.from("What is this?"), ImageContent.from(Told.PIXEL, "image/png"));
    return Told.said(model(Told.TOKEN).chat(message).aiMessage().text());
  }

  static Map<String, Object> image() throws Exception {
    var painter = OpenAiImageModel.builder()
        .baseUrl(BASE)
        .apiKey(Told.TOKEN)
        .modelName(Told.IMAGE_MODEL)
        .size("512x512")
        .build();
    var made = painter.generate("a gate").content();
    try (var bytes = made.url() == null ? null : made.url().toURL().openStream()) {
      byte[] picture = bytes == null ? Base64.getDecoder().decode(made.base64Data()) : bytes.readAllBytes();
      return Told.said(new String(picture, 1, 3));
    }
  }

  static Map<String, Object> embedding() {
    var vectors = OpenAiEmbeddingModel.builder().baseUrl(BASE).apiKey(Told.TOKEN).modelName(Told.EMBEDDING_MODEL);
    return Told.said(String.valueOf(vectors.build().embed("hello").content().dimension()));
  }

  public static void main(String[] arguments) {
    Told.feature("chat", () -> Told.said(model(Told.TOKEN).chat("Say hello.")));
    Told.feature("stream", Main::stream);
    Told.feature("tools", Main::tools);
    Told.feature("structured", Main::structured);
    Told.feature("picture", Main::picture);
    Told.feature("image", Main::image);
    Told.feature("embedding", Main::embedding);
    Told.absent("state");
    Told.refusals(token -> model(token).chat("Say hello."));
    System.exit(0);
  }
}
