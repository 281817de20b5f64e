// Made by scripts/types.mjs from schemas/codex.json. Do not edit.

export type ThreadStarted = { "threadId": string; "thread": Thread }
export type Thread = { "id": string; "sessionId": string; "name": string | null; "preview": string; "model": string; "modelProvider": string; "createdAt": number; "updatedAt": number; "recencyAt"?: number | null; "forkedFromId"?: string | null; "status": ThreadStatus; "cwd": string; "cliVersion": string; "source": string; "ephemeral": boolean; "gitInfo"?: GitInfo | null; "section"?: ThreadSection | null; "sectionEnteredAt"?: number | null; "projectId": string | null; "turns": Array<Turn> }
export type ThreadStatus = ZaneThreadStatus | CodexThreadStatus
export type ZaneThreadStatus = "NotLoaded" | "Idle" | "SystemError" | "Active"
export type CodexThreadStatus = { "type": "notLoaded" } | { "type": "idle" } | { "type": "systemError" } | { "type": "active"; "activeFlags": Array<ActiveFlag> }
export type ActiveFlag = "waitingOnApproval" | "waitingOnUserInput"
export type GitInfo = { "sha": string | null; "branch": string | null; "originUrl": string | null }
export type ThreadSection = { "id": string; "name": string; "appearance": ThreadSectionAppearance | null }
export type ThreadSectionAppearance = { "icon": string | null; "color": string | null }
export type Turn = { "id": string; "items": Array<ThreadItem>; "itemsView": ItemsView; "status": TurnStatus; "error": TurnError | null; "startedAt": number | null; "completedAt": number | null; "durationMs": number | null }
export type ThreadItem = { "type": "userMessage"; "id": string; "clientId": string | null; "content": Array<UserContent> } | { "type": "agentMessage"; "id": string; "text": string } | { "type": "plan"; "id": string; "text": string } | { "type": "reasoning"; "id": string; "summary": Array<string>; "content": Array<string> } | { "type": "commandExecution"; "id": string; "command": string; "cwd": string; "source": string; "status": ItemStatus; "commandActions": Array<CommandAction>; "aggregatedOutput": string | null; "exitCode": number | null; "durationMs": number | null } | { "type": "fileChange"; "id": string; "changes": Array<FileUpdateChange>; "status": ItemStatus } | { "type": "mcpToolCall"; "id": string; "server": string; "tool": string; "status": ItemStatus; "arguments": unknown; "result": McpToolCallResult | null; "error": McpToolCallError | null; "durationMs": number | null } | { "type": "dynamicToolCall"; "id": string; "namespace": string | null; "tool": string; "arguments": unknown; "status": ItemStatus; "contentItems": Array<DynamicToolCallOutputContentItem> | null; "success": boolean | null; "durationMs": number | null } | { "type": "webSearch"; "id": string; "query": string; "action": WebSearchAction } | { "type": "imageView"; "id": string; "path": string } | { "type": "collabAgentToolCall"; "id": string; "tool": CollabAgentTool; "status": CollabAgentToolCallStatus; "senderThreadId": string; "receiverThreadIds": Array<string>; "prompt": string; "agentsStates": { [key: string]: CollabAgentState } } | { "type": "contextCompaction"; "id": string } | { "type": "enteredReviewMode"; "id": string; "review": string } | { "type": "exitedReviewMode"; "id": string; "review": string }
export type UserContent = { "type": "text"; "text": string; "text_elements": Array<TextElement> } | { "type": "image"; "url": string } | { "type": "localImage"; "path": string }
export type TextElement = { "byteRange": ByteRange; "placeholder": string | null }
export type ByteRange = { "start": number; "end": number }
export type ItemStatus = "inProgress" | "completed" | "failed" | "declined"
export type CommandAction = { "type": "unknown"; "command": string }
export type FileUpdateChange = { "path": string; "kind": PatchChangeKind; "diff": string }
export type PatchChangeKind = { "type": "add" } | { "type": "delete" } | { "type": "update"; "move_path": string | null }
export type McpToolCallResult = { "content": Array<McpContent>; "structuredContent": unknown }
export type McpContent = { "type": "text"; "text": string } | { "type": "image"; "data": string; "mimeType": string } | { "type": "resource"; "resource": McpResource }
export type McpResource = { "uri": string; "mimeType"?: string | null; "text"?: string | null }
export type McpToolCallError = { "message": string }
export type DynamicToolCallOutputContentItem = { "type": "inputText"; "text": string } | { "type": "inputImage"; "imageUrl": string }
export type WebSearchAction = { "type": "search"; "query": string } | { "type": "openPage"; "url": string }
export type CollabAgentTool = "spawnAgent"
export type CollabAgentToolCallStatus = "inProgress" | "completed" | "failed" | "interrupted"
export type CollabAgentState = { "status": CollabAgentStatus; "message": string | null }
export type CollabAgentStatus = "running" | "interrupted" | "completed" | "errored" | "notFound"
export type ItemsView = "notLoaded" | "full" | "summary"
export type TurnStatus = ZaneTurnStatus | CodexTurnStatus
export type ZaneTurnStatus = "Completed" | "Interrupted" | "Failed" | "InProgress"
export type CodexTurnStatus = "completed" | "interrupted" | "failed" | "inProgress"
export type TurnError = { "message": string; "codexErrorInfo": CodexErrorInfo | null; "additionalDetails": string | null }
export type CodexErrorInfo = "contextWindowExceeded" | "sessionBudgetExceeded" | "usageLimitExceeded" | "internalServerError" | { "responseStreamDisconnected": { "httpStatusCode": number | null } }
export type ThreadNamed = { "threadId": string }
export type ThreadStatusChanged = { "threadId": string; "status": ThreadStatus }
export type ThreadNameUpdated = { "threadId": string; "threadName": string; "name": string }
export type ThreadTokenUsageUpdated = { "threadId": string; "turnId": string; "tokenUsage": ThreadTokenUsage; "totalTokens": number; "inputTokens": number; "cachedInputTokens": number; "outputTokens": number; "reasoningOutputTokens": number }
export type ThreadTokenUsage = { "total": TokenUsageBreakdown; "last": TokenUsageBreakdown; "modelContextWindow": number | null }
export type TokenUsageBreakdown = { "totalTokens": number; "inputTokens": number; "cachedInputTokens": number; "outputTokens": number; "reasoningOutputTokens": number }
export type TurnChanged = { "threadId": string; "turn": Turn }
export type TurnPlanUpdated = { "threadId": string; "turnId": string; "explanation": string | null; "plan": Array<TurnPlanStep> }
export type TurnPlanStep = { "step": string; "status": PlanStatus }
export type PlanStatus = ZanePlanStatus | CodexPlanStatus
export type ZanePlanStatus = "Pending" | "InProgress" | "Completed"
export type CodexPlanStatus = "pending" | "inProgress" | "completed"
export type TurnDiffUpdated = { "threadId": string; "turnId": string; "diff": string }
export type ItemStarted = { "threadId": string; "turnId": string; "startedAtMs": number; "item": ThreadItem }
export type ItemCompleted = { "threadId": string; "turnId": string; "completedAtMs": number; "item": ThreadItem }
export type Delta = { "threadId": string; "turnId": string; "itemId": string; "contentIndex"?: number | null; "summaryIndex"?: number | null; "delta": string }
export type ReasoningSummaryPartAdded = { "threadId": string; "turnId": string; "itemId": string; "summaryIndex": number }
export type TerminalInteraction = { "threadId": string; "turnId": string; "itemId": string; "processId": string; "stdin": string }
export type McpToolCallProgress = { "threadId": string; "turnId": string; "itemId": string; "message": string }
export type FuzzyFileSearchSessionUpdated = { "sessionId": string; "query": string; "files": Array<FuzzyFileSearchResult> }
export type FuzzyFileSearchResult = { "root": string; "path": string; "match_type": FuzzyFileSearchMatchType; "file_name": string; "score": number; "indices": Array<number> }
export type FuzzyFileSearchMatchType = "file" | "directory"
export type FuzzyFileSearchSessionCompleted = { "sessionId": string }
export type ErrorNotice = { "threadId": string; "turnId": string; "message": string; "error": TurnError; "willRetry": boolean }
export type ServerRequestResolved = { "threadId": string; "requestId": number }
export type RequestApproval = { "threadId": string; "turnId": string; "itemId": string; "startedAtMs": number; "reason": string; "command"?: string | null; "cwd"?: string | null; "commandActions"?: Array<CommandAction> | null; "availableDecisions": Array<string> }
export type RequestUserInput = { "threadId": string; "turnId": string; "itemId": string; "questions": Array<UserInputQuestion>; "isBlocking": boolean; "autoResolutionMs": number | null }
export type UserInputQuestion = { "id": string; "header": string; "question": string; "isOther": boolean; "isSecret": boolean; "options": Array<UserInputOption> | null }
export type UserInputOption = { "label": string; "description": string }
export type GetAccountResponse = { "account": Account | null; "requiresOpenaiAuth": boolean }
export type Account = { "type": "apiKey" } | { "type": "chatgpt"; "email": string | null; "planType": string }
export type Page = { "data": Array<Model>; "nextCursor": string | null }
export type Model = { "id": string; "model": string; "displayName": string; "description": string; "hidden": boolean; "isDefault": boolean; "supportedReasoningEfforts": Array<ReasoningEffortOption>; "defaultReasoningEffort": string; "inputModalities": Array<string> }
export type ReasoningEffortOption = { "reasoningEffort": string; "description": string }
export type Page2 = { "data": Array<CollaborationModeMask>; "nextCursor": string | null }
export type CollaborationModeMask = { "name": string; "mode": string; "model": string | null; "reasoning_effort": string | null; "developer_instructions": string | null }
export type Page3 = { "data": Array<McpServerStatus>; "nextCursor": string | null }
export type McpServerStatus = { "name": string; "serverInfo": McpServerInfo | null; "tools": { [key: string]: McpTool }; "toolsError": string | null; "resources": Array<unknown>; "resourceTemplates": Array<unknown>; "authStatus": McpAuthStatus; "runtimeStatus": McpServerConnectionStatus }
export type McpServerInfo = { "name": string; "title": string | null; "version": string }
export type McpTool = { "name": string; "title": string | null; "description": string; "inputSchema": unknown }
export type McpAuthStatus = "unsupported" | "notLoggedIn" | "bearerToken" | "oAuth"
export type McpServerConnectionStatus = "notStarted" | "starting" | "connected" | "failed" | "disabled"
export type ThreadListResponse = { "data": Array<Thread>; "nextCursor": string | null; "backwardsCursor": string | null }
export type Page4 = { "data": Array<string>; "nextCursor": string | null }
export type ThreadOpened = { "thread": Thread; "model": string; "modelProvider": string; "cwd": string; "approvalPolicy": string; "approvalsReviewer": string; "sandbox": SandboxPolicy; "activePermissionProfile": ActivePermissionProfile | null; "reasoningEffort": string | null; "initialTurnsPage"?: ThreadTurnsListResponse | null }
export type SandboxPolicy = { "type": "dangerFullAccess" } | { "type": "readOnly"; "networkAccess": boolean } | { "type": "workspaceWrite"; "writableRoots": Array<unknown>; "networkAccess": boolean; "excludeTmpdirEnvVar": boolean; "excludeSlashTmp": boolean }
export type ActivePermissionProfile = { "id": string; "extends": string | null }
export type ThreadTurnsListResponse = { "data": Array<Turn>; "nextCursor": string | null; "backwardsCursor": string | null }
export type ThreadReadResponse = { "thread": Thread }
export type ThreadUnsubscribeResponse = { "status": UnsubscribeStatus }
export type UnsubscribeStatus = "notSubscribed" | "unsubscribed"
export type TurnStartResponse = { "turn": Turn }
export type TurnSteerResponse = { "turnId": string }
export type ReviewStartResponse = { "turn": Turn; "reviewThreadId": string }
export type Page5 = { "data": Array<ThreadBackgroundTerminal>; "nextCursor": string | null }
export type ThreadBackgroundTerminal = { "processId": string; "itemId": string; "command": string; "cwd": string }
export type ThreadBackgroundTerminalsTerminateResponse = { "terminated": boolean }
export type FuzzyFileSearchResponse = { "files": Array<FuzzyFileSearchResult>; "data"?: Array<FuzzyFileSearchResult> | null }
export type Empty = Record<string, unknown>
export type Page6 = { "data": Array<SkillsListEntry>; "nextCursor": string | null }
export type SkillsListEntry = { "cwd": string; "skills": Array<SkillMetadata>; "errors": Array<unknown> }
export type SkillMetadata = { "name": string; "description": string; "shortDescription": string | null; "path": string; "scope": SkillScope; "enabled": boolean; "interface": SkillInterface | null }
export type SkillScope = "user" | "repo" | "system"
export type SkillInterface = { "displayName": string | null; "shortDescription": string | null; "iconSmallUrl": string | null; "iconLargeUrl": string | null; "defaultPrompt": string | null }
export type McpServerOauthLoginCompleted = { "name": string; "threadId": string; "success": boolean; "error": string | null }
export type McpServerOauthLoginResponse = { "authorizationUrl": string }
export type SkillsConfigWriteResponse = { "effectiveEnabled": boolean }
export type Page7 = { "data": Array<HooksListEntry>; "nextCursor": string | null }
export type HooksListEntry = { "cwd": string; "hooks": Array<unknown>; "warnings": Array<unknown>; "errors": Array<unknown> }
export type PluginListResponse = { "marketplaces": Array<unknown>; "marketplaceLoadErrors": Array<unknown>; "featuredPluginIds": Array<unknown> }
export type Page8 = { "data": Array<Empty>; "nextCursor": string | null }
export type AppsInstalledResponse = { "apps": Array<unknown> }
export type MemoryStatusResponse = { "v2Ready": boolean; "v2ConsolidatedThreads": number }
export type ModelProviderCapabilitiesReadResponse = { "webSearch": boolean; "imageGeneration": boolean }
export type BedrockCheckGovCloudRequirementsResponse = { "isGovCloud": boolean; "shouldWarn": boolean }
export type AccountRateLimitsResponse = { "rateLimits": RateLimitSnapshot; "rateLimitsByLimitId": Empty | null }
export type RateLimitSnapshot = { "primary": Empty | null; "secondary": Empty | null; "credits": Empty | null; "planType": Empty | null }
export type AccountTokenUsageResponse = { "summary": AccountTokenUsageSummary; "dailyUsageBuckets": Empty | null }
export type AccountTokenUsageSummary = { "lifetimeTokens": number | null; "peakDailyTokens": number | null }
export type ThreadGoalGetResponse = { "goal": Empty | null }
export type ThreadGoalClearResponse = { "cleared": boolean }
export type AccountLoginCompleted = { "loginId": string | null; "success": boolean; "error": string | null }
export type AccountUpdated = { "authMode": string | null; "planType": string | null }
export type ThreadSettingsUpdated = { "threadId": string; "threadSettings": CodexThreadSettings }
export type CodexThreadSettings = { "cwd": string; "approvalPolicy": string; "approvalsReviewer": string; "sandboxPolicy": SandboxPolicy; "activePermissionProfile": ActivePermissionProfile | null; "model": string; "modelProvider": string; "effort": string | null; "summary": string | null; "collaborationMode": ActiveCollaborationMode }
export type ActiveCollaborationMode = { "mode": string; "settings": ActiveCollaborationSettings }
export type ActiveCollaborationSettings = { "model": string; "reasoning_effort": string | null; "developer_instructions": string | null }
export type Page9 = { "data": Array<PermissionProfileSummary>; "nextCursor": string | null }
export type PermissionProfileSummary = { "id": string; "description": string; "allowed": boolean }
export type McpServerElicitationRequest = { "threadId": string; "turnId": string; "serverName": string; "mode": string; "_meta": ElicitationMeta; "message": string; "requestedSchema": ElicitationSchema }
export type ElicitationMeta = { "codex_approval_kind": string; "persist": Array<string>; "tool_title": string }
export type ElicitationSchema = { "type": string; "properties": Empty }
export type CommandExecResponse = { "exitCode": number; "stdout": string; "stderr": string }
export type ThreadSearchResponse = { "data": Array<ThreadSearchResult>; "nextCursor": string | null; "backwardsCursor": string | null }
export type ThreadSearchResult = { "snippet": string; "thread": Thread }
export type Page10 = { "data": Array<ThreadSection>; "nextCursor": string | null }
export type ThreadSectionResponse = { "section": ThreadSection }
export type ThreadItemsListResponse = { "data": Array<ThreadItemEntry>; "nextCursor": string | null; "backwardsCursor": string | null }
export type ThreadItemEntry = { "turnId": string; "item": ThreadItem }
export type ThreadItemsReadResponse = { "data": Array<ThreadItemEntry> }
export type Page11 = { "data": Array<ThreadSearchOccurrence>; "nextCursor": string | null }
export type ThreadSearchOccurrence = { "turnId": string; "itemId": string; "snippet": string; "snippetMatchRange": ThreadSearchTextRange; "turnCursor": string }
export type ThreadSearchTextRange = { "start": number; "end": number }
export type LoginAccountResponse = { "type": "apiKey" } | { "type": "chatgpt"; "loginId": string; "authUrl": string }
export type CancelLoginAccountResponse = { "status": CancelLoginAccountStatus }
export type CancelLoginAccountStatus = "canceled" | "notFound"
export type DragomanSearchResponse = { "data": Array<DragomanSearchResult>; "nextCursor": string | null; "indexing": IndexingState | null }
export type DragomanSearchResult = { "thread": Thread; "hits": Array<DragomanSearchHit>; "moreHits": number }
export type DragomanSearchHit = { "kind": SearchTextKind; "turnId": string | null; "itemId": string | null; "createdAt": number; "snippet": string; "matches": Array<SearchTextRange> }
export type SearchTextKind = "title" | "user" | "agent" | "command" | "path"
export type SearchTextRange = { "start": number; "end": number }
export type IndexingState = { "done": number; "total": number }
export type Page12 = { "data": Array<Grant>; "nextCursor": string | null }
export type Grant = { "id": string; "what": string; "key": string; "scope": GrantScope; "grantedAt": number; "grantedBy": string | null }
export type GrantScope = "turn" | "session" | "workspace"
export type InitializeResponse = { "userAgent": string; "codexHome": string; "platformFamily": string; "platformOs": string }
export type ConfigReadResponse = { "config": Empty; "origins": Empty; "layers": Empty | null }
export type ConfigWriteResponse = { "status": string; "version": string; "filePath": string }
export type ConfigRequirementsReadResponse = { "requirements": ConfigRequirements }
export type ConfigRequirements = { "allowedApprovalsReviewers": Array<string> }

export type ModelListParams = { "cursor"?: string | null; "limit"?: number | null; "includeHidden"?: boolean | null }
export type ThreadStartParams = { "cwd"?: string | null; "model"?: string | null; "approvalPolicy"?: unknown; "sandbox"?: unknown; "permissions"?: string | null; "config"?: ThreadConfig | null; "developerInstructions"?: string | null; "ephemeral"?: boolean | null }
export type ThreadConfig = { "model_reasoning_effort"?: string | null; "model_reasoning_summary"?: string | null; "model_verbosity"?: string | null }
export type ThreadListParams = { "cursor"?: string | null; "limit"?: number | null; "sortKey"?: ThreadSortKey | null; "sortDirection"?: SortDirection | null; "archived"?: boolean | null; "sourceKinds"?: Array<string> | null; "cwd"?: OneOrMany | null; "searchTerm"?: string | null; "modelProviders"?: Array<string> | null; "excludedThreadIds"?: Array<string> | null; "originators"?: Array<string> | null; "sectionId"?: string | null; "projectId"?: string | null; "parentThreadId"?: string | null; "ancestorThreadId"?: string | null; "attachedToThreadId"?: string | null }
export type ThreadSortKey = "created_at" | "updated_at" | "recency_at" | "section_position"
export type SortDirection = "asc" | "desc"
export type OneOrMany = string | Array<string>
export type ThreadLoadedListParams = { "cursor"?: string | null; "limit"?: number | null }
export type ThreadForkParams = { "threadId": string; "lastTurnId"?: string | null; "beforeTurnId"?: string | null; "cwd"?: string | null; "model"?: string | null; "approvalPolicy"?: unknown; "sandbox"?: unknown; "permissions"?: string | null; "config"?: ThreadConfig | null; "developerInstructions"?: string | null; "ephemeral"?: boolean | null; "excludeTurns"?: boolean | null; "withFiles"?: boolean | null }
export type ThreadRollbackParams = { "threadId": string; "numTurns": number; "restoreFiles"?: boolean | null }
export type ThreadReadParams = { "threadId": string; "includeTurns"?: boolean | null }
export type ThreadResumeParams = { "threadId": string; "excludeTurns"?: boolean | null; "initialTurnsPage"?: InitialTurnsPage | null }
export type InitialTurnsPage = { "limit"?: number | null; "sortDirection"?: SortDirection | null; "itemsView"?: ItemsView | null }
export type ThreadSetNameParams = { "threadId": string; "name": string }
export type ThreadParams = { "threadId": string }
export type ListMcpServerStatusParams = { "cursor"?: string | null; "limit"?: number | null; "serverName"?: string | null; "threadId"?: string | null }
export type TurnStartParams = { "threadId": string; "input": Array<UserInput>; "clientUserMessageId"?: string | null; "model"?: string | null; "effort"?: string | null; "summary"?: string | null; "approvalPolicy"?: unknown; "sandboxPolicy"?: unknown; "permissions"?: string | null; "collaborationMode"?: CollaborationMode | null }
export type UserInput = { "type": string; "text"?: string | null; "text_elements"?: Array<SaidTextElement>; "url"?: string | null; "path"?: string | null; "name"?: string | null }
export type SaidTextElement = { "byteRange": ByteRange; "placeholder"?: string | null }
export type CollaborationMode = { "mode"?: string | null; "settings"?: CollaborationSettings | null }
export type CollaborationSettings = { "model"?: string | null; "reasoning_effort"?: string | null; "developer_instructions"?: string | null }
export type TurnSteerParams = { "threadId": string; "input": Array<UserInput>; "expectedTurnId": string; "clientUserMessageId"?: string | null }
export type TurnInterruptParams = { "threadId": string; "turnId": string }
export type ThreadShellCommandParams = { "threadId": string; "command": string; "timeoutMs"?: number | null }
export type ReviewStartParams = { "threadId": string; "target": ReviewStartTarget; "delivery"?: string | null }
export type ReviewStartTarget = { "type": "uncommittedChanges" } | { "type": "baseBranch"; "branch": string } | { "type": "commit"; "sha": string; "title"?: string | null } | { "type": "custom"; "instructions": string }
export type TerminalListParams = { "threadId": string; "cursor"?: string | null; "limit"?: number | null }
export type TerminalParams = { "threadId": string; "processId": string }
export type TerminalWriteParams = { "threadId": string; "processId": string; "text": string }
export type FuzzyFileSearchParams = { "query": string; "roots"?: Array<string> | null; "limit"?: number | null; "cancellationToken"?: string | null }
export type FuzzyFileSearchSessionStartParams = { "sessionId": string; "roots": Array<string> }
export type FuzzyFileSearchSessionUpdateParams = { "sessionId": string; "query": string }
export type FuzzyFileSearchSessionStopParams = { "sessionId": string }
export type ApprovalResponse = { "decision": unknown }
export type ToolRequestUserInputResponse = { "answers": { [key: string]: ToolRequestUserInputAnswer } }
export type ToolRequestUserInputAnswer = { "answers": Array<string> }
export type SkillsListParams = { "cwds"?: Array<string> }
export type SkillsConfigWriteParams = { "name"?: string | null; "path"?: string | null; "enabled": boolean }
export type HooksListParams = { "cwds"?: Array<string>; "threadId"?: string | null }
export type McpServerOauthLoginParams = { "name": string; "threadId"?: string | null }
export type ThreadSectionListParams = { "cursor"?: string | null; "limit"?: number | null }
export type ThreadSectionCreateParams = { "name": string; "appearance"?: SaidThreadSectionAppearance | null }
export type SaidThreadSectionAppearance = { "icon"?: string | null; "color"?: string | null }
export type ThreadSectionUpdateParams = { "sectionId": string; "name": string; "appearance"?: SaidThreadSectionAppearance | null }
export type ThreadSectionDeleteParams = { "sectionId": string }
export type ThreadSectionMoveParams = { "threadId": string; "sectionId"?: string | null; "beforeThreadId"?: string | null }
export type ThreadMetadataUpdateParams = { "threadId": string; "gitInfo"?: ThreadMetadataGitInfoUpdateParams | null; "projectId"?: string | null; "daybreakEnabled"?: boolean | null }
export type ThreadMetadataGitInfoUpdateParams = { "branch"?: string | null; "sha"?: string | null; "originUrl"?: string | null }
export type ThreadItemsListParams = { "threadId": string; "turnId"?: string | null; "cursor"?: ThreadItemsListCursor | null; "limit"?: number | null; "sortDirection"?: SortDirection | null }
export type ThreadItemsListCursor = string | ThreadItemsListAnchor
export type ThreadItemsListAnchor = { "type": "item"; "itemId": string }
export type ThreadItemsReadParams = { "threadId": string; "turnId": string; "itemIds": Array<string> }
export type ThreadSearchOccurrencesParams = { "threadId": string; "searchTerm": string; "cursor"?: string | null; "limit"?: number | null }
export type InitializeParams = { "clientInfo": ClientInfo }
export type ClientInfo = { "name": string; "version"?: string | null }
export type LoginAccountParams = { "type": "apiKey"; "apiKey": SecretText } | { "type": "chatgpt" }
export type SecretText = string
export type CancelLoginAccountParams = { "loginId": string }
export type McpServerElicitationResponse = { "action": string; "_meta"?: ElicitationAnswerMeta | null }
export type ElicitationAnswerMeta = { "persist"?: string | null }
export type ThreadTurnsListParams = { "threadId": string; "cursor"?: string | null; "limit"?: number | null; "sortDirection"?: SortDirection | null; "itemsView"?: ItemsView | null }
export type CommandExecParams = { "command": Array<string>; "cwd"?: string | null; "timeoutMs"?: number | null; "outputBytesCap"?: number | null; "env"?: { [key: string]: string | null } | null; "sandboxPolicy"?: unknown; "permissionProfile"?: string | null; "disableTimeout"?: boolean; "tty"?: boolean; "streamStdin"?: boolean; "streamStdoutStderr"?: boolean }
export type ThreadSettingsUpdateParams = { "threadId": string; "model"?: string | null; "effort"?: string | null; "summary"?: string | null; "approvalPolicy"?: unknown; "approvalsReviewer"?: string | null; "sandboxPolicy"?: unknown; "permissions"?: string | null; "collaborationMode"?: CollaborationMode | null; "cwd"?: string | null; "serviceTier"?: string | null }
export type PermissionProfileListParams = { "cursor"?: string | null; "limit"?: number | null }
export type ThreadRevertParams = { "threadId": string; "beforeTurnId": string; "restoreFiles"?: boolean | null }
export type ThreadSearchParams = { "searchTerm": string; "cursor"?: string | null; "limit"?: number | null; "sortKey"?: ThreadSortKey | null; "sortDirection"?: SortDirection | null; "archived"?: boolean | null; "sourceKinds"?: Array<string> | null }
export type DragomanSearchParams = { "searchTerm": string; "cwd"?: OneOrMany | null; "archived"?: ArchivedChoice | null; "updatedSince"?: number | null; "updatedUntil"?: number | null; "agent"?: string | null; "model"?: string | null; "kinds"?: Array<SearchTextKind> | null; "threadId"?: string | null; "limit"?: number | null; "cursor"?: string | null }
export type ArchivedChoice = "exclude" | "include" | "only"
export type GrantParams = { "threadId": string; "what": string; "scope": GrantScope }
export type ConfigValueWriteParams = { "keyPath": string; "value": unknown; "filePath"?: string | null; "expectedVersion"?: string | null }
export type ConfigBatchWriteParams = { "edits": Array<ConfigEdit>; "filePath"?: string | null; "expectedVersion"?: string | null }
export type ConfigEdit = { "keyPath": string; "value": unknown }

export interface Calls {
  "account/read": { params: unknown; result: GetAccountResponse }
  "model/list": { params: ModelListParams; result: Page }
  "collaborationMode/list": { params: unknown; result: Page2 }
  "thread/start": { params: ThreadStartParams; result: ThreadOpened }
  "thread/list": { params: ThreadListParams; result: ThreadListResponse }
  "thread/loaded/list": { params: ThreadLoadedListParams; result: Page4 }
  "thread/fork": { params: ThreadForkParams; result: ThreadOpened }
  "thread/rollback": { params: ThreadRollbackParams; result: ThreadReadResponse }
  "thread/read": { params: ThreadReadParams; result: ThreadReadResponse }
  "thread/resume": { params: ThreadResumeParams; result: ThreadOpened }
  "thread/name/set": { params: ThreadSetNameParams; result: Empty }
  "thread/archive": { params: ThreadParams; result: Empty }
  "thread/unarchive": { params: ThreadParams; result: ThreadReadResponse }
  "thread/unsubscribe": { params: ThreadParams; result: ThreadUnsubscribeResponse }
  "mcpServerStatus/list": { params: ListMcpServerStatusParams; result: Page3 }
  "turn/start": { params: TurnStartParams; result: TurnStartResponse }
  "turn/steer": { params: TurnSteerParams; result: TurnSteerResponse }
  "turn/interrupt": { params: TurnInterruptParams; result: Empty }
  "thread/compact/start": { params: ThreadParams; result: Empty }
  "thread/shellCommand": { params: ThreadShellCommandParams; result: Empty }
  "review/start": { params: ReviewStartParams; result: ReviewStartResponse }
  "thread/backgroundTerminals/list": { params: TerminalListParams; result: Page5 }
  "thread/backgroundTerminals/clean": { params: ThreadParams; result: Empty }
  "thread/backgroundTerminals/terminate": { params: TerminalParams; result: ThreadBackgroundTerminalsTerminateResponse }
  "dragoman/terminals/write": { params: TerminalWriteParams; result: Empty }
  "fuzzyFileSearch": { params: FuzzyFileSearchParams; result: FuzzyFileSearchResponse }
  "fuzzyFileSearch/sessionStart": { params: FuzzyFileSearchSessionStartParams; result: Empty }
  "fuzzyFileSearch/sessionUpdate": { params: FuzzyFileSearchSessionUpdateParams; result: Empty }
  "fuzzyFileSearch/sessionStop": { params: FuzzyFileSearchSessionStopParams; result: Empty }
  "skills/list": { params: SkillsListParams; result: Page6 }
  "skills/config/write": { params: SkillsConfigWriteParams; result: SkillsConfigWriteResponse }
  "hooks/list": { params: HooksListParams; result: Page7 }
  "plugin/list": { params: unknown; result: PluginListResponse }
  "plugin/installed": { params: unknown; result: PluginListResponse }
  "plugin/search": { params: unknown; result: Page8 }
  "app/list": { params: unknown; result: Page8 }
  "config/mcpServer/reload": { params: unknown; result: Empty }
  "mcpServer/oauth/login": { params: McpServerOauthLoginParams; result: McpServerOauthLoginResponse }
  "app/installed": { params: unknown; result: AppsInstalledResponse }
  "experimentalFeature/list": { params: unknown; result: Page8 }
  "project/list": { params: unknown; result: Page8 }
  "memory/status": { params: unknown; result: MemoryStatusResponse }
  "modelProvider/capabilities/read": { params: unknown; result: ModelProviderCapabilitiesReadResponse }
  "account/bedrock/checkGovCloudRequirements": { params: unknown; result: BedrockCheckGovCloudRequirementsResponse }
  "account/rateLimits/read": { params: unknown; result: AccountRateLimitsResponse }
  "account/usage/read": { params: unknown; result: AccountTokenUsageResponse }
  "thread/goal/get": { params: ThreadParams; result: ThreadGoalGetResponse }
  "thread/goal/clear": { params: ThreadParams; result: ThreadGoalClearResponse }
  "thread/queue/list": { params: ThreadParams; result: Page8 }
  "thread/attachment/list": { params: ThreadParams; result: Page8 }
  "threadSection/list": { params: ThreadSectionListParams; result: Page10 }
  "threadSection/create": { params: ThreadSectionCreateParams; result: ThreadSectionResponse }
  "threadSection/update": { params: ThreadSectionUpdateParams; result: ThreadSectionResponse }
  "threadSection/delete": { params: ThreadSectionDeleteParams; result: Empty }
  "thread/section/move": { params: ThreadSectionMoveParams; result: Empty }
  "thread/metadata/update": { params: ThreadMetadataUpdateParams; result: ThreadReadResponse }
  "thread/items/list": { params: ThreadItemsListParams; result: ThreadItemsListResponse }
  "thread/items/read": { params: ThreadItemsReadParams; result: ThreadItemsReadResponse }
  "thread/searchOccurrences": { params: ThreadSearchOccurrencesParams; result: Page11 }
  "initialize": { params: InitializeParams; result: InitializeResponse }
  "initialized": { params: unknown; result: unknown }
  "account/login/start": { params: LoginAccountParams; result: LoginAccountResponse }
  "account/login/cancel": { params: CancelLoginAccountParams; result: CancelLoginAccountResponse }
  "account/logout": { params: unknown; result: Empty }
  "thread/turns/list": { params: ThreadTurnsListParams; result: ThreadTurnsListResponse }
  "command/exec": { params: CommandExecParams; result: CommandExecResponse }
  "thread/settings/update": { params: ThreadSettingsUpdateParams; result: Empty }
  "permissionProfile/list": { params: PermissionProfileListParams; result: Page9 }
  "thread/revert": { params: ThreadRevertParams; result: ThreadReadResponse }
  "thread/delete": { params: ThreadParams; result: Empty }
  "thread/search": { params: ThreadSearchParams; result: ThreadSearchResponse }
  "dragoman/search": { params: DragomanSearchParams; result: DragomanSearchResponse }
  "dragoman/grants/list": { params: ThreadParams; result: Page12 }
  "dragoman/grants/revoke": { params: GrantParams; result: Empty }
  "config/read": { params: unknown; result: ConfigReadResponse }
  "config/value/write": { params: ConfigValueWriteParams; result: ConfigWriteResponse }
  "config/batchWrite": { params: ConfigBatchWriteParams; result: ConfigWriteResponse }
  "configRequirements/read": { params: unknown; result: ConfigRequirementsReadResponse }
}

export interface Notices {
  "thread/started": ThreadStarted
  "thread/archived": ThreadNamed
  "thread/unarchived": ThreadNamed
  "thread/closed": ThreadNamed
  "thread/deleted": ThreadNamed
  "thread/reverted": ThreadNamed
  "thread/status/changed": ThreadStatusChanged
  "thread/name/updated": ThreadNameUpdated
  "thread/tokenUsage/updated": ThreadTokenUsageUpdated
  "turn/started": TurnChanged
  "turn/completed": TurnChanged
  "turn/plan/updated": TurnPlanUpdated
  "turn/diff/updated": TurnDiffUpdated
  "item/started": ItemStarted
  "item/completed": ItemCompleted
  "item/agentMessage/delta": Delta
  "item/plan/delta": Delta
  "item/reasoning/summaryTextDelta": Delta
  "item/reasoning/summaryPartAdded": ReasoningSummaryPartAdded
  "item/commandExecution/outputDelta": Delta
  "item/commandExecution/terminalInteraction": TerminalInteraction
  "item/mcpToolCall/progress": McpToolCallProgress
  "fuzzyFileSearch/sessionUpdated": FuzzyFileSearchSessionUpdated
  "fuzzyFileSearch/sessionCompleted": FuzzyFileSearchSessionCompleted
  "error": ErrorNotice
  "serverRequest/resolved": ServerRequestResolved
  "mcpServer/oauthLogin/completed": McpServerOauthLoginCompleted
  "account/login/completed": AccountLoginCompleted
  "account/updated": AccountUpdated
  "thread/settings/updated": ThreadSettingsUpdated
}

export interface Requests {
  "item/commandExecution/requestApproval": RequestApproval
  "item/fileChange/requestApproval": RequestApproval
  "item/tool/requestUserInput": RequestUserInput
  "mcpServer/elicitation/request": McpServerElicitationRequest
}

