package main

import (
	"context"
	"encoding/base64"
	"strconv"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
)

func client(token string) openai.Client {
	return openai.NewClient(option.WithBaseURL(url+"/v1"), option.WithAPIKey(token))
}

func ask(token string, params openai.ChatCompletionNewParams) (openai.ChatCompletionMessage, error) {
	api := client(token)
	params.Model = chatModel
	answer, err := api.Chat.Completions.New(context.Background(), params)
	if err != nil {
		return openai.ChatCompletionMessage{}, err
	}
	return answer.Choices[0].Message, nil
}

func said(parts ...openai.ChatCompletionMessageParamUnion) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{Messages: parts}
}

func hello(token string) (facts, error) {
	message, err := ask(token, said(openai.UserMessage("Say hello.")))
	return facts{"said": message.Content}, err
}

func stream() (facts, error) {
	api := client(token)
	params := said(openai.UserMessage("Say hello."))
	params.Model = chatModel
	events := api.Chat.Completions.NewStreaming(context.Background(), params)
	text, pieces := "", 0
	for events.Next() {
		chunk := events.Current()
		if len(chunk.Choices) > 0 && chunk.Choices[0].Delta.Content != "" {
			text += chunk.Choices[0].Delta.Content
			pieces++
		}
	}
	return facts{"said": text, "pieces": pieces}, events.Err()
}

func tools() (facts, error) {
	function := openai.FunctionDefinitionParam{
		Name:        "weather",
		Description: openai.String("The weather of a city."),
		Parameters:  citySchema,
	}
	params := said()
	params.Tools = []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(function)}
	text := ""
	for _, question := range questions {
		params.Messages = append(params.Messages, openai.UserMessage(question))
		for {
			message, err := ask(token, params)
			if err != nil {
				return nil, err
			}
			params.Messages = append(params.Messages, message.ToParam())
			for _, call := range message.ToolCalls {
				result := openai.ToolMessage(weather(call.Function.Arguments), call.ID)
				params.Messages = append(params.Messages, result)
			}
			if len(message.ToolCalls) == 0 {
				text = message.Content
				break
			}
		}
	}
	return facts{"said": text, "calls": toolRuns}, nil
}

func structured() (facts, error) {
	params := said(openai.UserMessage("Name a city."))
	schema := openai.ResponseFormatJSONSchemaJSONSchemaParam{
		Name:   "city",
		Schema: citySchema,
		Strict: openai.Bool(true),
	}
	params.ResponseFormat = openai.ChatCompletionNewParamsResponseFormatUnion{
		OfJSONSchema: &openai.ResponseFormatJSONSchemaParam{JSONSchema: schema},
	}
	message, err := ask(token, params)
	if err != nil {
		return nil, err
	}
	return cityOf(message.Content)
}

func picture() (facts, error) {
	message, err := ask(token, said(openai.UserMessage([]openai.ChatCompletionContentPartUnionParam{
		openai.TextContentPart("What is this?"),
		openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: pixelURL}),
	})))
	return facts{"said": message.Content}, err
}

func image() (facts, error) {
	api := client(token)
	made, err := api.Images.Generate(context.Background(), openai.ImageGenerateParams{
		Model:          imageModel,
		Prompt:         "a gate",
		Size:           openai.ImageGenerateParamsSize512x512,
		ResponseFormat: openai.ImageGenerateParamsResponseFormatB64JSON,
	})
	if err != nil {
		return nil, err
	}
	bytes, err := base64.StdEncoding.DecodeString(made.Data[0].B64JSON)
	if err != nil {
		return nil, err
	}
	return facts{"said": string(bytes[1:4])}, nil
}

func embedding() (facts, error) {
	api := client(token)
	made, err := api.Embeddings.New(context.Background(), openai.EmbeddingNewParams{
		Model: embeddingModel,
		Input: openai.EmbeddingNewParamsInputUnion{OfString: openai.String("hello")},
	})
	if err != nil {
		return nil, err
	}
	return facts{"said": strconv.Itoa(len(made.Data[0].Embedding))}, nil
}

func state() (facts, error) {
	api := client(token)
	params := responses.ResponseNewParams{
		Model: memoryModel,
		Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("Remember this.")},
	}
	first, err := api.Responses.New(context.Background(), params)
	if err != nil {
		return nil, err
	}
	params.Input.OfString = openai.String("What did I say?")
	params.PreviousResponseID = openai.String(first.ID)
	second, err := api.Responses.New(context.Background(), params)
	if err != nil {
		return nil, err
	}
	return facts{"said": second.OutputText()}, nil
}

func main() {
	feature("chat", func() (facts, error) { return hello(token) })
	feature("stream", stream)
	feature("tools", tools)
	feature("structured", structured)
	feature("picture", picture)
	feature("image", image)
	feature("embedding", embedding)
	feature("state", state)
	refusals(hello)
}
