"""Owns what PowerShell's help says of its commands: aliases, and the parameters that each one takes.

Giving arguments to them is left to `cmdlets`. An indented line goes on with the one above.
"""

from __future__ import annotations

ALIASES = """
Add-Content ac|Clear-Content clc|Clear-Item cli|Clear-ItemProperty clp|Clear-Variable clv|Clear-History clhy
Compare-Object compare diff|Copy-Item copy cp cpi|Copy-ItemProperty cpp|Convert-Path cvpa
Remove-Item del erase rd ri rm rmdir|Get-ChildItem dir gci ls|Write-Output echo write|Format-Custom fc
Format-List fl|ForEach-Object foreach %|Format-Table ft|Format-Wide fw|Get-Alias gal|Get-Content cat gc type
Get-Command gcm|Get-ComputerInfo gin|Get-History ghy h history|Get-Item gi|Get-Location gl pwd|Get-Member gm
Get-Module gmo|Get-ItemProperty gp|Get-Process gps ps|Get-ItemPropertyValue gpv|Group-Object group|Get-Service gsv
Get-Variable gv|Get-WmiObject gwmi|Get-CimInstance gcim|Get-CimClass gcls|Invoke-Command icm|Invoke-Expression iex
Invoke-History ihy r|Invoke-Item ii|Import-Module ipmo|Invoke-RestMethod irm|Invoke-WebRequest iwr curl wget
Invoke-WmiMethod iwmi|Invoke-CimMethod icim|Stop-Process kill spps|Get-Help man help|New-Item ni|mkdir md
New-Alias nal|New-Variable nv|New-PSSession nsn|Enter-PSSession etsn|Measure-Object measure|Move-Item mi move mv
Move-ItemProperty mp|Out-Host oh|Pop-Location popd|Push-Location pushd|Receive-Job rcjb|Remove-Job rjb
Rename-Item ren rni|Remove-ItemProperty rp|Remove-Variable rv|Resolve-Path rvpa|Remove-WmiObject rwmi
Remove-CimInstance rcim|Remove-PSDrive rdr|New-PSDrive ndr mount|Start-Job sajb|Set-Alias sal
Start-Process saps start|Start-Service sasv|Set-Content sc|Select-Object select|Set-Variable sv set|Set-Item si
Set-Location cd chdir sl|Set-ItemProperty sp|Select-String sls|Sort-Object sort|Start-Sleep sleep|Stop-Service spsv
Set-CimInstance scim|Set-WmiInstance swmi|Tee-Object tee|Where-Object where ?|Wait-Job wjb
Expand-Archive expand-archive|Clear-Host cls clear|Remove-Module rmo|Get-PSDrive gdr|Get-Clipboard gcb
Set-Clipboard scb|Get-TimeZone gtz
"""

PARAMETERS = """
Remove-Item|Path|Recurse Force|LiteralPath Filter Include Exclude Stream Credential
Move-Item|Path Destination|Force PassThru|LiteralPath Filter Include Exclude Credential
Copy-Item|Path Destination|Container Force Recurse PassThru|LiteralPath Filter Include Exclude Credential
  FromSession ToSession
Rename-Item|Path NewName|Force PassThru|LiteralPath Credential
New-Item|Path|Force|ItemType Value Name Credential Target
Clear-Item|Path|Force|LiteralPath Filter Include Exclude Credential
Clear-Content|Path|Force|LiteralPath Filter Include Exclude Credential Stream
Set-Content|Path Value|PassThru Force NoNewline AsByteStream|LiteralPath Filter Include Exclude Credential
  Encoding Stream
Add-Content|Path Value|PassThru Force NoNewline AsByteStream|LiteralPath Filter Include Exclude Credential
  Encoding Stream
Out-File|FilePath Encoding|Append Force NoClobber NoNewline|LiteralPath InputObject Width
Tee-Object|FilePath|Append|LiteralPath InputObject Variable Encoding
Export-Csv|Path Delimiter|Force NoClobber Append NoTypeInformation UseCulture|LiteralPath InputObject Encoding
Export-Clixml|Path|Force NoClobber|LiteralPath InputObject Encoding Depth
Get-Content|Path|Force Wait Raw AsByteStream|LiteralPath ReadCount TotalCount Tail First Head Last Filter
  Include Exclude Credential Delimiter Encoding Stream
Get-ChildItem|Path Filter|Recurse Force Name Directory File Hidden ReadOnly System FollowSymlink|LiteralPath
  Include Exclude Depth Attributes
Get-EventLog|LogName|List AsBaseObject AsString|ComputerName Newest After Before UserName InstanceId Index EntryType
  Source Message
Get-Item|Path|Force|LiteralPath Filter Include Exclude Credential Stream
Resolve-Path|Path|Relative|LiteralPath Credential
Convert-Path|Path||LiteralPath
Test-Path|Path|IsValid|LiteralPath Filter Include Exclude PathType OlderThan NewerThan Credential
Join-Path|Path ChildPath AdditionalChildPath|Resolve|Credential
Split-Path|Path|Parent Leaf LeafBase Extension Qualifier NoQualifier Resolve IsAbsolute|LiteralPath Credential
Set-Location|Path|PassThru|LiteralPath StackName
Push-Location|Path|PassThru|LiteralPath StackName
Pop-Location|||StackName
Get-Location|||PSProvider PSDrive Stack StackName
Set-Item|Path Value|Force PassThru|LiteralPath Filter Include Exclude Credential
Set-ItemProperty|Path Name Value|Force PassThru|LiteralPath InputObject Filter Include Exclude Credential Type
  PropertyType
New-ItemProperty|Path Name|Force|LiteralPath Value PropertyType Type Filter Include Exclude Credential
Remove-ItemProperty|Path Name|Force|LiteralPath Filter Include Exclude Credential
Rename-ItemProperty|Path Name NewName|Force PassThru|LiteralPath
Clear-ItemProperty|Path Name|Force|LiteralPath
Get-ItemProperty|Path Name||LiteralPath Filter Include Exclude Credential
Get-ItemPropertyValue|Path Name||LiteralPath
Set-Acl|Path AclObject|Passthru ClearCentralAccessPolicy|LiteralPath SecurityDescriptor InputObject Filter
  Include Exclude
Get-Acl|Path|Audit|LiteralPath Filter
Expand-Archive|Path DestinationPath|Force PassThru|LiteralPath
Compress-Archive|Path DestinationPath|Update Force PassThru|LiteralPath CompressionLevel
Write-Output|InputObject|NoEnumerate|
Write-Host|Object|NoNewline|Separator ForegroundColor BackgroundColor
Write-Error|Message||Exception Category ErrorId TargetObject
Write-Warning|Message||
Write-Verbose|Message||
Write-Debug|Message||
Write-Information|MessageData||Tags
ForEach-Object|Process|Parallel AsJob UseNewRunspace|Begin End RemainingScripts InputObject MemberName
  ArgumentList ThrottleLimit TimeoutSeconds
Where-Object|FilterScript Property Value|EQ NE GT GE LT LE CEQ Like NotLike Match NotMatch Contains NotContains
  In NotIn CContains CLike CMatch Not|InputObject
Select-Object|Property|Unique Wait|InputObject ExcludeProperty ExpandProperty Last First Skip SkipLast Index
Sort-Object|Property|Descending Unique CaseSensitive Stable|InputObject Culture Top Bottom
Select-String|Pattern Path|SimpleMatch CaseSensitive Quiet List AllMatches Raw NotMatch|InputObject LiteralPath
  Include Exclude Context Encoding Culture
Group-Object|Property|NoElement AsHashTable AsString CaseSensitive|InputObject
Measure-Object|Property|Sum Average Maximum Minimum Line Word Character AllStats IgnoreWhiteSpace|InputObject
Compare-Object|ReferenceObject DifferenceObject|IncludeEqual ExcludeDifferent PassThru|Property SyncWindow
Out-String||Stream NoNewline|Width InputObject
Out-Null|||InputObject
Out-Host||Paging|InputObject
Out-Default|||InputObject
Format-Table|Property|AutoSize Wrap HideTableHeaders|GroupBy InputObject View
Format-List|Property||GroupBy InputObject View
Invoke-Expression|Command||
Invoke-Command|ScriptBlock ArgumentList|AsJob HideComputerName NoNewScope InDisconnectedSession|ComputerName
  FilePath Session Credential InputObject Command HostName UserName Port JobName ThrottleLimit ConnectionUri VMName
  VMId ContainerId
Start-Job|ScriptBlock InitializationScript|RunAs32|FilePath LiteralPath Name Credential InputObject ArgumentList
  PSVersion WorkingDirectory
Start-ThreadJob|ScriptBlock||FilePath Name InitializationScript InputObject ArgumentList ThrottleLimit
Invoke-Item|Path||LiteralPath Filter Include Exclude Credential
Import-Module|Name|Global Force PassThru DisableNameChecking SkipEditionCheck|Prefix Function Cmdlet Variable
  Alias RequiredVersion MinimumVersion ArgumentList Scope
Start-Process|FilePath ArgumentList|NoNewWindow Wait PassThru LoadUserProfile UseNewEnvironment|WorkingDirectory
  WindowStyle Verb Credential RedirectStandardInput RedirectStandardOutput RedirectStandardError
Invoke-WebRequest|Uri|UseBasicParsing UseDefaultCredentials DisableKeepAlive SkipCertificateCheck PassThru
  AllowUnencryptedAuthentication SkipHttpErrorCheck NoProxy Resume SkipHeaderValidation|Method Body InFile
  OutFile Headers UserAgent ContentType Form Credential Proxy SessionVariable WebSession TimeoutSec
  MaximumRedirection Certificate Authentication Token TransferEncoding CustomMethod HttpVersion
  MaximumRetryCount RetryIntervalSec SslProtocol
Invoke-RestMethod|Uri|UseBasicParsing UseDefaultCredentials DisableKeepAlive SkipCertificateCheck PassThru
  AllowUnencryptedAuthentication SkipHttpErrorCheck NoProxy Resume FollowRelLink SkipHeaderValidation|Method
  Body InFile OutFile Headers UserAgent ContentType Form Credential Proxy SessionVariable WebSession TimeoutSec
  MaximumRedirection Certificate Authentication Token TransferEncoding CustomMethod HttpVersion
  MaximumRetryCount RetryIntervalSec StatusCodeVariable ResponseHeadersVariable
Start-BitsTransfer|Source Destination|Asynchronous Dynamic|DisplayName Description Priority TransferType
  Credential ProxyUsage
Send-MailMessage|To Subject Body SmtpServer|BodyAsHtml UseSsl|Attachments From Cc Bcc Port Credential Priority
  Encoding
New-Object|TypeName ArgumentList|Strict|ComObject Property
Add-Type|TypeDefinition|PassThru IgnoreWarnings|AssemblyName Path LiteralPath MemberDefinition Name Namespace
  UsingNamespace Language ReferencedAssemblies OutputAssembly OutputType CompilerOptions
Get-Command|Name ArgumentList|All ListImported Syntax ShowCommandInfo|CommandType Module Verb Noun TotalCount
  ParameterName
Get-Alias|Name||Definition Scope Exclude
Get-Variable|Name|ValueOnly|Include Exclude Scope
Set-Variable|Name Value|Force PassThru|Description Option Scope Visibility Include Exclude
New-Variable|Name Value|Force PassThru|Description Option Scope Visibility
Set-Alias|Name Value|Force PassThru|Description Option Scope
New-Alias|Name Value|Force PassThru|Description Option Scope
Get-WmiObject|Class Property|Recurse Amended List EnableAllPrivileges AsJob|Filter Query Namespace ComputerName
  Credential
Get-CimInstance|ClassName|KeyOnly Shallow|Namespace Query QueryDialect Filter Property ComputerName CimSession
  InputObject
Remove-WmiObject|Class||Path InputObject ComputerName Namespace Credential
Remove-CimInstance|InputObject||Query Namespace ComputerName CimSession
Invoke-WmiMethod|Class Name|EnableAllPrivileges AsJob|ArgumentList Path InputObject Namespace ComputerName Credential
Invoke-CimMethod|ClassName MethodName Arguments||InputObject Query Namespace ComputerName CimSession
Stop-Process|Id|Force PassThru|Name InputObject
Get-Process|Name|Module FileVersionInfo IncludeUserName|Id ComputerName InputObject
Stop-Service|Name|Force NoWait PassThru|DisplayName Include Exclude InputObject
Start-Service|Name|PassThru|DisplayName InputObject
Set-Service|Name|Force PassThru|DisplayName Description StartupType Status Credential InputObject ComputerName
Remove-Service|Name||InputObject
New-Service|Name BinaryPathName||DisplayName Description StartupType Credential DependsOn
Get-Service|Name|DependentServices RequiredServices|DisplayName Include Exclude InputObject ComputerName
Stop-Computer|ComputerName|Force AsJob|Credential
Restart-Computer|ComputerName|Force Wait AsJob|Credential Timeout For Delay
Set-ExecutionPolicy|ExecutionPolicy Scope|Force|
Set-MpPreference||Force|DisableRealtimeMonitoring DisableBehaviorMonitoring DisableBlockAtFirstSeen
  DisableIOAVProtection DisableScriptScanning DisableArchiveScanning DisableIntrusionPreventionSystem
  DisablePrivacyMode ExclusionPath ExclusionProcess ExclusionExtension ExclusionIpAddress MAPSReporting
  SubmitSamplesConsent EnableControlledFolderAccess EnableNetworkProtection PUAProtection
  HighThreatDefaultAction ModerateThreatDefaultAction LowThreatDefaultAction SevereThreatDefaultAction
  UnknownThreatDefaultAction AttackSurfaceReductionRules_Ids AttackSurfaceReductionRules_Actions
  SignatureUpdateInterval ScanScheduleDay ScanScheduleTime DisableEmailScanning DisableRemovableDriveScanning
  DisableScanningNetworkFiles
Add-MpPreference||Force|ExclusionPath ExclusionProcess ExclusionExtension ExclusionIpAddress
  AttackSurfaceReductionRules_Ids AttackSurfaceReductionRules_Actions
Remove-MpPreference||Force|ExclusionPath ExclusionProcess ExclusionExtension
Set-NetFirewallProfile|Name|All PassThru|Profile Enabled DefaultInboundAction DefaultOutboundAction LogFileName
  NotifyOnListen AllowInboundRules
New-NetFirewallRule|||Name DisplayName Direction Action Protocol LocalPort RemotePort RemoteAddress Program
  Profile Enabled Group Description Service
Set-NetFirewallRule|Name|All PassThru|DisplayName Direction Action Enabled Profile NewDisplayName
Remove-NetFirewallRule|Name|All PassThru|DisplayName Group InputObject
Disable-NetFirewallRule|Name|All PassThru|DisplayName Group DisplayGroup InputObject
Enable-NetFirewallRule|Name|All PassThru|DisplayName Group DisplayGroup InputObject
Register-ScheduledTask|TaskName Action Trigger|Force|TaskPath Xml User Password RunLevel Settings Principal
  Description InputObject
Unregister-ScheduledTask|TaskName||TaskPath InputObject
Disable-ScheduledTask|TaskName||TaskPath InputObject
New-ScheduledTaskAction|Execute Argument||WorkingDirectory Id
Format-Volume|DriveLetter|Full Force Compress|FileSystem NewFileSystemLabel AllocationUnitSize Partition
  InputObject Path
Clear-Disk|Number|RemoveData RemoveOEM PassThru|UniqueId FriendlyName InputObject Path
Initialize-Disk|Number|PassThru|PartitionStyle UniqueId InputObject
Remove-Partition|DiskNumber PartitionNumber|PassThru|DriveLetter InputObject
Get-Credential|Credential||Message UserName Title
ConvertTo-SecureString|String|AsPlainText Force|SecureKey Key
Set-Clipboard|Value|Append PassThru|Path LiteralPath
Read-Host|Prompt|AsSecureString MaskInput|
Start-Sleep|Seconds||Milliseconds Duration
Get-Random|Maximum||Minimum InputObject Count SetSeed
Get-Date|Date||Format UFormat Year Month Day
Get-Member|Name|Force Static|InputObject MemberType View
ConvertTo-Json|InputObject|Compress EnumsAsStrings AsArray|Depth
ConvertFrom-Json|InputObject|AsHashtable NoEnumerate|Depth
Clear-EventLog|LogName||ComputerName
Remove-EventLog|LogName||Source ComputerName
Clear-RecycleBin|DriveLetter|Force|
New-PSDrive|Name PSProvider Root|Persist|Description Scope Credential
Disable-WindowsOptionalFeature||Online Remove NoRestart|FeatureName Path
Enable-WindowsOptionalFeature||Online All NoRestart|FeatureName Path
New-LocalUser|Name|NoPassword Disabled PasswordNeverExpires|Password FullName Description
Add-LocalGroupMember|Group Member||Name SID
Remove-LocalUser|Name||SID InputObject
Set-LocalUser|Name||Password Description FullName
Disable-ComputerRestore|Drive||
Clear-History|Id||Count CommandLine Newest
Set-PSReadLineOption|||HistorySaveStyle HistorySavePath EditMode PredictionSource
Get-Clipboard||Raw|Format TextFormatType
Get-Disk|Number||UniqueId FriendlyName
Get-Partition|DiskNumber PartitionNumber||DriveLetter
Get-Volume|DriveLetter||FriendlyName Path
Get-ComputerRestorePoint|RestorePoint||
Invoke-History|Id||
Get-Help|Name|Detailed Full Examples Online|Parameter Category
Wait-Process|Name||Id Timeout
New-ScheduledTaskTrigger||Once Daily Weekly AtLogOn AtStartup|At RepetitionInterval DaysOfWeek User
Install-Module|Name|Force AllowClobber SkipPublisherCheck AcceptLicense|Scope Repository RequiredVersion
  MinimumVersion
Install-Package|Name|Force|Source ProviderName RequiredVersion Destination
Uninstall-Package|Name|Force AllVersions|ProviderName
Uninstall-Module|Name|Force AllVersions|RequiredVersion
Publish-Module|Name|Force|Path NuGetApiKey Repository
Remove-AppxPackage|Package|AllUsers PreserveApplicationData|User
Save-Module|Name|Force|Path LiteralPath Repository
Debug-Process|Name||Id
Restore-Computer|RestorePoint||
mkdir|Path|Force|Name
"""
"""Name, parameters by place, switches, parameters that only a name gives; parted by `|`."""
